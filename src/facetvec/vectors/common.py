"""What all words share, taken out of a word space.

In: a word space. Out: the same words, each vector v as v - m - U U^T (v - m), where m is the mean vector and the
columns of U are the directions of greatest variance (Mu and Viswanath 2018, "All-but-the-top"). Zero vectors stand for
nothing: they take no part and stay zero. Whether it helps is measured, for each space, with `check_vectors`.

Shapes: V words, D dimensions, C components.
"""

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import ConfigError
from facetvec.vectors.space import WordSpace

_ROWS_AT_A_TIME = 1 << 15


def remove_common(space: WordSpace, *, mean: bool, components: int) -> WordSpace:
    """Return the space without its mean vector, if `mean`, and without its first `components` principal directions."""
    if not 0 <= components < space.dimension:
        raise ConfigError(f"components: expected 0 to {space.dimension - 1}, found {components}")
    used_V = space.vectors_VD.any(axis=1)
    vectors_VD = space.vectors_VD[used_V]
    mean_D = np.zeros(space.dimension)
    if mean and len(vectors_VD):
        mean_D = vectors_VD.mean(axis=0, dtype=np.float64)
    top_DC = _principal_directions(vectors_VD, mean_D, num_components=components)
    for start in range(0, len(vectors_VD), _ROWS_AT_A_TIME):
        centred_BD = vectors_VD[start : start + _ROWS_AT_A_TIME] - mean_D
        vectors_VD[start : start + _ROWS_AT_A_TIME] = centred_BD - (centred_BD @ top_DC) @ top_DC.T
    result_VD = np.zeros_like(space.vectors_VD)
    result_VD[used_V] = vectors_VD
    return WordSpace(words=space.words, vectors_VD=result_VD, counts=space.counts)


def _principal_directions(
    vectors_VD: NDArray[np.float32], mean_D: NDArray[np.float64], *, num_components: int
) -> NDArray[np.float64]:
    scatter_DD = np.zeros((len(mean_D), len(mean_D)))
    for start in range(0, len(vectors_VD), _ROWS_AT_A_TIME):
        centred_BD = vectors_VD[start : start + _ROWS_AT_A_TIME] - mean_D
        scatter_DD += centred_BD.T @ centred_BD
    _, directions_DD = np.linalg.eigh(scatter_DD)  # in ascending order
    return directions_DD[:, len(mean_D) - num_components :]
