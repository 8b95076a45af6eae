"""Coordinate descent, the plain version: runs on any device, and is what the Triton kernel is tested against.

In: the products of facets and words, λ/2 taken off those with words. Out: coefficients. One after the other, every
facet takes its best coefficient for all words at once, the others as they are; no step can raise the objective.

With u = m · ‖f‖ and everything divided by the norms, the best u_k is Σ_j -g_kj u_j + (c_k - λ/2) over j ≠ k, clamped
to 0 … ‖f_k‖. These sums are kept for all k, and follow each change of one u by one multiplication with a column of G:
three operations on large tensors a facet. Texts lie last, so that the column is read without a stride.

Shapes: B texts, K facets, N words.
"""

import torch
from torch import Tensor

from facetvec.nnsc.products import norms_of_facets


def descend(gram_BKK: Tensor, lowered_BKN: Tensor, *, sweeps: int) -> Tensor:
    """Return coefficients [B, K, N] after some sweeps over the facets, from zero; a zero facet keeps 0."""
    norms_BK, divisors_BK = norms_of_facets(gram_BKK)
    slopes_BKK = -gram_BKK / (divisors_BK[:, :, None] * divisors_BK[:, None, :])
    slopes_BKK.diagonal(dim1=1, dim2=2).zero_()
    columns = slopes_BKK.permute(1, 2, 0).contiguous()[:, :, None, :].unbind()  # each [K, 1, B]
    best_KNB = (lowered_BKN / divisors_BK[:, :, None]).permute(1, 2, 0).contiguous()
    best = best_KNB.unbind()
    zero, highest = norms_BK.new_zeros(()), norms_BK.T.contiguous().unbind()
    scaled = list(torch.zeros_like(best_KNB).unbind())
    for _ in range(sweeps):
        for k, column_K1B in enumerate(columns):
            changed_NB = torch.clamp(best[k], zero, highest[k])
            best_KNB.addcmul_(column_K1B, changed_NB - scaled[k])
            scaled[k] = changed_NB
    return torch.stack(scaled).permute(2, 0, 1) / divisors_BK[:, :, None]
