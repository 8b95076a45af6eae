"""A word space: words, their vectors, and questions to them.

In: words and a matrix. Out: the rows of other words, a space of chosen words, unit vectors, nearest words. A word that
the space lacks never gets an invented vector: it has row -1, or a zero vector that is marked as unknown. The cosine
with a zero vector is 0.

Shapes: V words of the space, D dimensions, N words or vectors asked about, n nearest words.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.files import import_extra

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

_COSINES_AT_A_TIME = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The vectors of a list of words, in its order; a word that the space lacks has a zero row and `is_known` False."""

    words: tuple[str, ...]
    vectors_ND: NDArray[np.float32]
    is_known_N: NDArray[np.bool_]

    @property
    def missing(self) -> tuple[str, ...]:
        """The words that the space lacks."""
        return tuple(word for word, is_known in zip(self.words, self.is_known_N, strict=True) if not is_known)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordSpace:
    """Words with a finite vector each, and with their counts where these are known.

    A word is not empty, is there once, and holds no newline.
    """

    words: tuple[str, ...]
    vectors_VD: NDArray[np.float32]
    counts: NDArray[np.int64] | None = None
    _row_of: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_row_of", {word: row for row, word in enumerate(self.words)})
        _check_words(self.words, num_distinct=len(self._row_of))
        _check_numbers(len(self.words), self.vectors_VD, self.counts)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._row_of

    @property
    def dimension(self) -> int:
        """D, the length of each vector."""
        return int(self.vectors_VD.shape[1])

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each word, -1 for a word that the space lacks."""
        return np.fromiter((self._row_of.get(word, -1) for word in _listed(words)), dtype=np.int64)

    def align(self, words: Iterable[str]) -> Alignment:
        """Return the vectors of these words in this order, those that the space lacks marked."""
        words = tuple(_listed(words))
        rows_N = self.rows(words)
        is_known_N = rows_N >= 0
        vectors_ND = np.zeros((len(words), self.dimension), dtype=np.float32)
        vectors_ND[is_known_N] = self.vectors_VD[rows_N[is_known_N]]
        return Alignment(words=words, vectors_ND=vectors_ND, is_known_N=is_known_N)

    def restrict(self, words: Iterable[str]) -> "WordSpace":
        """Return the space of those of these words that it has, in this order, each once."""
        rows_N = self.rows(dict.fromkeys(_listed(words)))
        rows_N = rows_N[rows_N >= 0]
        return WordSpace(
            words=tuple(self.words[row] for row in rows_N.tolist()),
            vectors_VD=self.vectors_VD[rows_N],
            counts=None if self.counts is None else self.counts[rows_N],
        )

    def unit(self) -> "WordSpace":
        """Return the space with every vector scaled to length 1; zero vectors stay zero."""
        return WordSpace(words=self.words, vectors_VD=unit_rows(self.vectors_VD), counts=self.counts)

    def nearest(self, vectors_ND: NDArray[np.float32], *, n: int) -> list[list[tuple[str, float]]]:
        """Return for each vector the `n` words of highest cosine, the highest first; of equals, the earlier word."""
        if vectors_ND.ndim != 2 or vectors_ND.shape[1] != self.dimension:
            raise InputError(f"expected vectors of shape (N, {self.dimension}), found {vectors_ND.shape}")
        queries_ND = unit_rows(vectors_ND)
        unit_VD = unit_rows(self.vectors_VD)
        found: list[list[tuple[str, float]]] = []
        step = max(1, _COSINES_AT_A_TIME // max(1, len(self)))
        for start in range(0, len(queries_ND), step):
            cosines_BV = np.clip(queries_ND[start : start + step] @ unit_VD.T, -1, 1)
            found.extend(self._top(cosines_V, n=n) for cosines_V in cosines_BV)
        return found

    def _top(self, cosines_V: NDArray[np.float32], *, n: int) -> list[tuple[str, float]]:
        n = min(n, len(self))
        if n < 1:
            return []
        rows = np.flatnonzero(cosines_V >= np.partition(cosines_V, -n)[-n])
        rows = rows[np.argsort(-cosines_V[rows], kind="stable")[:n]]
        return [(self.words[row], float(cosines_V[row])) for row in rows.tolist()]

    @classmethod
    def from_gensim(cls, keyed_vectors: "KeyedVectors") -> "WordSpace":
        """Return the space of a gensim `KeyedVectors`, such as `Word2Vec(...).wv`."""
        words = tuple(keyed_vectors.index_to_key)
        counts = keyed_vectors.expandos.get("count")
        if counts is not None and np.array_equal(counts, np.arange(len(words), 0, -1)):
            counts = None  # what gensim makes up when it reads a file without counts
        return cls(
            words=words,
            vectors_VD=np.array(keyed_vectors.vectors, dtype=np.float32),
            counts=None if counts is None else np.array(counts, dtype=np.int64),
        )

    def to_gensim(self) -> "KeyedVectors":
        """Return the space as a gensim `KeyedVectors`."""
        models = import_extra("gensim.models", extra="train", purpose="a gensim KeyedVectors")
        keyed_vectors = models.KeyedVectors(vector_size=self.dimension)
        keyed_vectors.add_vectors(list(self.words), self.vectors_VD)
        if self.counts is not None:
            keyed_vectors.expandos["count"] = self.counts.copy()
        return keyed_vectors


def unit_rows(vectors_ND: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1; a zero row stays zero."""
    lengths_N = np.sqrt(np.einsum("nd,nd->n", vectors_ND, vectors_ND, dtype=np.float64))
    lengths_N[lengths_N == 0] = 1
    scaled_ND = np.empty(vectors_ND.shape, dtype=np.float32)
    np.divide(vectors_ND, lengths_N[:, None], out=scaled_ND, casting="same_kind")
    return scaled_ND


def _listed(words: Iterable[str]) -> Iterable[str]:
    if isinstance(words, str):
        raise InputError(f"expected a list of words, found the lone string {words!r}: put it into a list")
    return words


def _check_words(words: tuple[str, ...], *, num_distinct: int) -> None:
    if num_distinct < len(words):
        raise InputError(f"a word space holds each word once, found {len(words) - num_distinct} repeated")
    if "" in words:
        raise InputError("a word space holds no empty word")
    joined = "\n".join(words)
    if words and joined.count("\n") != len(words) - 1:
        raise InputError("a word of a word space holds no newline")
    try:
        joined.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"a word is not valid Unicode: {error}") from error


def _check_numbers(num_words: int, vectors_VD: NDArray[np.float32], counts: NDArray[np.int64] | None) -> None:
    shape = vectors_VD.shape
    if vectors_VD.dtype != np.float32 or len(shape) != 2 or shape[0] != num_words or shape[1] == 0:
        raise InputError(f"expected a float32 matrix with {num_words} rows, found {vectors_VD.dtype} of shape {shape}")
    if vectors_VD.size and not np.isfinite([vectors_VD.min(), vectors_VD.max()]).all():
        raise InputError("the vectors of a word space are finite, found nan or infinity")
    if counts is not None and (counts.dtype != np.int64 or counts.shape != (num_words,)):
        raise InputError(f"expected {num_words} int64 counts, found {counts.dtype} of shape {counts.shape}")
