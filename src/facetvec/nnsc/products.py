"""Inner products of facets and words: all that the coefficients and the errors depend on.

In: facets F, words W. Out: G = F Fᵀ and C = F Wᵀ, through which gradients flow, in float32 whatever the precision of
F and W and whatever autocast says; float64 stays float64.

Shapes: B texts, D dimensions, K facets, N words.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Products:
    """Products of the facets of each text with each other and with its words."""

    gram_BKK: Tensor
    cross_BKN: Tensor


def multiply(facets_BKD: Tensor, words_BND: Tensor) -> Products:
    """Return the products of facets and words."""
    dtype = exact_dtype(facets_BKD, words_BND)
    facets_BKD, words_BND = facets_BKD.to(dtype), words_BND.to(dtype)
    with without_autocast(facets_BKD):
        return Products(facets_BKD @ facets_BKD.mT, facets_BKD @ words_BND.mT)


def exact_dtype(first: Tensor, second: Tensor) -> torch.dtype:
    """Return the precision to compute with: float32, or more if one of the tensors has it."""
    return torch.promote_types(torch.promote_types(first.dtype, second.dtype), torch.float32)


def without_autocast(tensor: Tensor) -> torch.autocast:
    """Return a context in which tensors on that device keep the precision they have."""
    return torch.autocast(tensor.device.type, enabled=False)


def norms_of_facets(gram_BKK: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norms [B, K] of the facets, and the same to divide by: 1 for a facet of zeros."""
    norms_BK = gram_BKK.diagonal(dim1=1, dim2=2).sqrt()
    return norms_BK, norms_BK.masked_fill(norms_BK == 0, 1)
