"""How much of each facet every word takes: one function over all solvers, in PyTorch.

In: facets F, words W, a penalty λ. Out: for every word w the coefficients m over the facets of its text that minimise

    ‖mF − w‖² + λ‖m‖₁,  0 ≤ m ≤ 1

A solver sees the products of F and W alone. On a GPU the descent is a Triton kernel; where Triton is missing, and for
float64 or more than 128 facets, the plain version runs there too.

Shapes: B texts, D dimensions, K facets, N words.
"""

from functools import cache
from importlib.util import find_spec
from typing import Literal, get_args

import torch
from torch import Tensor

from facetvec.errors import ConfigError
from facetvec.nnsc.defaults import PENALTY, STEPS, SWEEPS
from facetvec.nnsc.descent import descend
from facetvec.nnsc.products import Products, multiply, norms_of_facets, without_autocast
from facetvec.nnsc.rmsprop import rmsprop

MAX_FACETS_IN_KERNEL = 128  # its registers hold no more
Method = Literal["descent", "rmsprop", "kmeans"]


def coefficients(
    facets_BKD: Tensor,
    words_BND: Tensor,
    *,
    penalty: float | Tensor = PENALTY,
    mask_BN: Tensor | None = None,
    method: Method = "descent",
    rounds: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return coefficients [B, N, K] without gradient; words outside the mask get 0.

    `descent` makes `rounds` sweeps over the facets, 6 if not given; `rmsprop` that many steps, 60 if not given, from a
    start drawn with `generator`; `kmeans` gives each word to the one facet of highest cosine and knows no penalty.
    """
    with torch.no_grad():
        products = multiply(facets_BKD, words_BND)
        solution_BKN = solve(products, penalty=penalty, method=method, rounds=rounds, generator=generator)
        if mask_BN is not None:
            solution_BKN = solution_BKN.masked_fill(~mask_BN[:, None, :], 0)
    return solution_BKN.mT


@torch.no_grad()
def solve(
    products: Products,
    *,
    penalty: float | Tensor,
    method: Method,
    rounds: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return coefficients [B, K, N] for products."""
    gram_BKK, cross_BKN = products.gram_BKK, products.cross_BKN
    match method:
        case "descent":
            sweeps = SWEEPS if rounds is None else rounds
            return _descend_where_best(gram_BKK, cross_BKN - penalty / 2, sweeps=sweeps)
        case "rmsprop":
            steps = STEPS if rounds is None else rounds
            start_BKN = torch.empty_like(cross_BKN).normal_(generator=generator)
            with without_autocast(gram_BKK):
                return rmsprop(gram_BKK, cross_BKN, penalty=penalty, start_BKN=start_BKN, steps=steps)
        case "kmeans":
            return take_nearest(gram_BKK, cross_BKN)
    raise ConfigError(f"method must be one of {', '.join(get_args(Method))}, found {method!r}")


def take_nearest(gram_BKK: Tensor, cross_BKN: Tensor) -> Tensor:
    """Return coefficients [B, K, N] of which one a word is not 0: its best for the facet of highest cosine."""
    _, divisors_BK = norms_of_facets(gram_BKK)
    cosines_BKN = cross_BKN / divisors_BK[:, :, None]
    nearest_B1N = cosines_BKN.argmax(dim=1, keepdim=True)
    best_BKN = (cosines_BKN / divisors_BK[:, :, None]).clamp(0, 1)
    return torch.zeros_like(best_BKN).scatter(1, nearest_B1N, best_BKN.gather(1, nearest_B1N))


def _descend_where_best(gram_BKK: Tensor, lowered_BKN: Tensor, *, sweeps: int) -> Tensor:
    if not is_for_triton(gram_BKK):
        return descend(gram_BKK, lowered_BKN, sweeps=sweeps)
    from facetvec.nnsc import triton_descent

    return triton_descent.descend(gram_BKK, lowered_BKN, sweeps=sweeps)


def is_for_triton(gram_BKK: Tensor) -> bool:
    """Tell whether the kernel can and should solve for these facets."""
    if not gram_BKK.is_cuda or gram_BKK.dtype != torch.float32 or gram_BKK.shape[1] > MAX_FACETS_IN_KERNEL:
        return False
    return _has_triton() and torch.cuda.get_device_capability(gram_BKK.device) >= (7, 0)  # older ones Triton leaves out


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
