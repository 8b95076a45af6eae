"""How well cosines of a word space agree with people who judged pairs of words.

In: a word space, and a folder with `wordsim/EN-*.txt` (a word, a word, a score; WordSim-353 and SimLex-999 come so).
Out: for each file the Spearman correlation of cosines and scores over the pairs whose words the space holds, as they
stand or in lower case, and how many pairs these are. Pairs of unknown words are counted as not covered, never scored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.vectors.space import WordSpace, unit_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSimilarity:
    """The agreement with one data set; `spearman` is None where too few different scores or cosines are left."""

    dataset: str
    pairs: int
    covered: int
    spearman: float | None


def check_vectors(space: WordSpace, data_dir: Path | str) -> list[WordSimilarity]:
    """Compare the space with each word similarity set of a data folder, in the order of their names."""
    paths = sorted((Path(data_dir) / "wordsim").glob("EN-*.txt"))
    if not paths:
        raise InputError("expected word similarity sets, found no wordsim/EN-*.txt", path=data_dir)
    return [_check(space, path) for path in paths]


def spearman(first_N: NDArray[np.float64], second_N: NDArray[np.float64]) -> float | None:
    """Return the rank correlation, equal values sharing their mean rank; None if all values of one side are equal."""
    ranks_2N = np.stack([_ranks(first_N), _ranks(second_N)])
    if (ranks_2N == ranks_2N[:, :1]).all(axis=1).any():
        return None
    correlations_22 = np.asarray(np.corrcoef(ranks_2N))
    return float(correlations_22[0, 1])


def _check(space: WordSpace, path: Path) -> WordSimilarity:
    pairs = list(_pairs(path))
    rows_2N = np.array([[_row(space, word) for word in pair[:2]] for pair in pairs], dtype=np.int64)
    rows_2N = rows_2N.reshape(-1, 2).T
    scores_N = np.array([score for _, _, score in pairs])
    is_covered_N = (rows_2N >= 0).all(axis=0)
    unit_2ND = [unit_rows(space.vectors_VD[rows_N[is_covered_N]]) for rows_N in rows_2N]
    cosines_N = np.einsum("nd,nd->n", *unit_2ND, dtype=np.float64)
    return WordSimilarity(
        dataset=path.stem.removeprefix("EN-"),
        pairs=len(pairs),
        covered=int(is_covered_N.sum()),
        spearman=spearman(cosines_N, scores_N[is_covered_N]),
    )


def _pairs(path: Path) -> Iterator[tuple[str, str, float]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            first, second, score = line.split()
            yield first, second, float(score)
        except ValueError:
            raise InputError(f"expected a word, a word and a score, found {line!r}", path=path, line=number) from None


def _row(space: WordSpace, word: str) -> int:
    row, lower_row = space.rows([word, word.lower()])
    return int(row if row >= 0 else lower_row)


def _ranks(values_N: NDArray[np.float64]) -> NDArray[np.float64]:
    _, group_N, sizes = np.unique(values_N, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[group_N]
