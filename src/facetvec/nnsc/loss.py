"""Errors of words against facets, and the loss that teaches facets.

In: facets F, words W, coefficients M or a penalty to find them with. Out: per word Er(F, w) = ‖mF − w‖², and

    loss = mean Er over the targets of each text − mean Er over the targets of other texts

with M held constant. Errors come from the products of `facetvec.nnsc.products`: ‖w‖² − 2 m·c + mᵀGm. Own targets and
those lent by other texts stand side by side, so that one solve serves both.

Shapes: B texts, D dimensions, K facets, N words: own targets, then the targets of other texts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from facetvec.nnsc.coefficients import Method, solve
from facetvec.nnsc.defaults import PENALTY
from facetvec.nnsc.products import Products, multiply, without_autocast


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The loss, to be differentiated; without gradient its parts and the coefficients [B, N, K] that it rests on."""

    total: Tensor
    own_error: Tensor
    other_error: Tensor
    coefficients_BNK: Tensor


def errors(facets_BKD: Tensor, words_BND: Tensor, coefficients_BNK: Tensor, *, mask_BN: Tensor | None = None) -> Tensor:
    """Return the squared distance [B, N] of every word from its sum of facets; 0 for words outside the mask."""
    errors_BN = _errors(multiply(facets_BKD, words_BND), words_BND, coefficients_BNK.mT)
    return errors_BN if mask_BN is None else errors_BN.masked_fill(~mask_BN, 0)


def loss(
    facets_BKD: Tensor,
    words_BND: Tensor,
    *,
    num_own: int,
    weights_BN: Tensor,
    penalty: float | Tensor = PENALTY,
    method: Method = "descent",
    rounds: int | None = None,
    generator: torch.Generator | None = None,
) -> Loss:
    """Return the loss of a batch. The first `num_own` words of a text are its targets, the rest those of other texts.

    Errors are summed up with `weights_BN`, 0 for padding. Weights of either kind that add up to 1 over the batch make
    the sums means; where processes share a batch, they add up to 1 over all of them.
    """
    products = multiply(facets_BKD, words_BND)
    solution_BKN = solve(products, penalty=penalty, method=method, rounds=rounds, generator=generator)
    errors_BN = _errors(products, words_BND, solution_BKN) * weights_BN
    own_error, other_error = errors_BN[:, :num_own].sum(), errors_BN[:, num_own:].sum()
    return Loss(
        total=own_error - other_error,
        own_error=own_error.detach(),
        other_error=other_error.detach(),
        coefficients_BNK=solution_BKN.mT,
    )


def _errors(products: Products, words_BND: Tensor, solution_BKN: Tensor) -> Tensor:
    squares_BN: Tensor = torch.linalg.vector_norm(words_BND, dim=-1, dtype=products.gram_BKK.dtype).square()
    with without_autocast(words_BND):
        pull_BKN = products.gram_BKK @ solution_BKN - 2 * products.cross_BKN
    return squares_BN + (solution_BKN * pull_BKN).sum(1)
