"""Coefficients and errors on numpy arrays, without PyTorch: the same interface and, but for rounding, the same numbers.

In: facets, words, a penalty. Out: coefficients by coordinate descent, in the steps that `facetvec.nnsc.descent`
explains, and errors. Computed in float32, or in float64 if one of the inputs is of that precision.

Shapes: B texts, D dimensions, K facets, N words.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetvec.nnsc.defaults import PENALTY, SWEEPS

Floats = NDArray[np.floating[Any]]


def coefficients(
    facets_BKD: Floats,
    words_BND: Floats,
    *,
    penalty: float = PENALTY,
    mask_BN: NDArray[np.bool_] | None = None,
    rounds: int = SWEEPS,
) -> Floats:
    """Return coefficients [B, N, K] after some sweeps over the facets; words outside the mask get 0."""
    gram_BKK, cross_BKN = _multiply(facets_BKD, words_BND)
    solution_BKN = _descend(gram_BKK, cross_BKN - cross_BKN.dtype.type(penalty / 2), sweeps=rounds)
    if mask_BN is not None:
        solution_BKN = solution_BKN * mask_BN[:, None, :]
    return solution_BKN.mT


def errors(
    facets_BKD: Floats, words_BND: Floats, coefficients_BNK: Floats, *, mask_BN: NDArray[np.bool_] | None = None
) -> Floats:
    """Return the squared distance [B, N] of every word from its sum of facets; 0 for words outside the mask."""
    gram_BKK, cross_BKN = _multiply(facets_BKD, words_BND)
    squares_BN = np.einsum("bnd,bnd->bn", words_BND, words_BND, dtype=gram_BKK.dtype)
    pull_BNK = coefficients_BNK @ gram_BKK - 2 * cross_BKN.mT
    errors_BN: Floats = squares_BN + np.einsum("bnk,bnk->bn", coefficients_BNK, pull_BNK)
    return errors_BN if mask_BN is None else errors_BN * mask_BN


def _multiply(facets_BKD: Floats, words_BND: Floats) -> tuple[Floats, Floats]:
    dtype = np.result_type(facets_BKD, words_BND, np.float32)
    facets_BKD, words_BND = facets_BKD.astype(dtype, copy=False), words_BND.astype(dtype, copy=False)
    return facets_BKD @ facets_BKD.mT, facets_BKD @ words_BND.mT


def _descend(gram_BKK: Floats, lowered_BKN: Floats, *, sweeps: int) -> Floats:
    norms_KB = np.sqrt(np.einsum("bkk->kb", gram_BKK))
    divisors_KB = np.where(norms_KB == 0, norms_KB.dtype.type(1), norms_KB)
    slopes_KKB = np.ascontiguousarray(gram_BKK.transpose(1, 2, 0)) / (divisors_KB[:, None] * divisors_KB)
    np.einsum("kkb->kb", slopes_KKB)[:] = 0
    best_KNB = np.ascontiguousarray(lowered_BKN.transpose(1, 2, 0)) / divisors_KB[:, None]
    scaled_KNB, change_KNB = np.zeros_like(best_KNB), np.empty_like(best_KNB)
    for _ in range(sweeps):
        for k, slopes_KB in enumerate(slopes_KKB):
            changed_NB = np.clip(best_KNB[k], 0, norms_KB[k])
            np.multiply(slopes_KB[:, None], changed_NB - scaled_KNB[k], out=change_KNB)
            best_KNB -= change_KNB
            scaled_KNB[k] = changed_NB
    solution_KNB: Floats = scaled_KNB / divisors_KB[:, None]
    return solution_KNB.transpose(2, 0, 1)
