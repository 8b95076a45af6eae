"""What a reader keeps of a vector file.

In: words and their vectors, a batch at a time, with the line (or the number of the word) where each stands. Out: a
`Reading`. The first vector of a word wins. What is malformed is an error, or is skipped and counted. Vectors grow in
one buffer, so that memory holds what is kept, once.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.vectors.space import WordSpace

FileFormat = Literal["glove", "word2vec", "word2vec-binary", "safetensors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A word space that was read, and what there is to say about its file.

    `duplicates` counts vectors of a word that had one before, `skipped` counts malformed lines, `first_skipped` tells
    the first of them; `missing` are the words of the given vocabulary that were not found, up to the limit if there is
    one.
    """

    space: WordSpace
    file_format: FileFormat
    duplicates: int
    skipped: int
    first_skipped: str
    missing: tuple[str, ...]


class Collector:
    """Gathers the words of a file that are wanted, up to a limit."""

    def __init__(
        self,
        path: Path,
        *,
        vocabulary: Collection[str] | None,
        limit: int | None,
        on_error: Literal["stop", "skip"],
        places: Literal["line", "word"],
    ) -> None:
        self.path = path
        self.wanted = None if vocabulary is None else {word.encode(errors="surrogatepass") for word in vocabulary}
        self._skips = on_error == "skip"
        self._vocabulary = vocabulary
        self._limit = limit
        self._places = places
        self._row_of: dict[str, int] = {}
        self._values = bytearray()
        self._duplicates = 0
        self._skipped = 0
        self._first_skipped = ""

    @property
    def room(self) -> int:
        """How many more words may be kept."""
        return sys.maxsize if self._limit is None else self._limit - len(self._row_of)

    def add(self, places: Sequence[int], words: Sequence[bytes], vectors_ND: NDArray[np.float32]) -> None:
        """Keep the words that are well-formed and new, in this order, until the limit is reached."""
        is_finite_N: list[bool] = np.asarray(np.isfinite(vectors_ND).all(axis=1)).tolist()
        kept = [
            index
            for index, (place, word) in enumerate(zip(places, words, strict=True))
            if self.room and self._accepts(place, word, is_finite=is_finite_N[index])
        ]
        self._values += (vectors_ND if len(kept) == len(words) else vectors_ND[kept]).tobytes()

    def reject(self, place: int, message: str) -> None:
        """Stop at something malformed, or skip it and count it."""
        if self._places == "line":
            error = InputError(message, path=self.path, line=place)
        else:
            error = InputError(f"word {place}: {message}", path=self.path)
        if not self._skips:
            raise error
        self._skipped += 1
        self._first_skipped = self._first_skipped or str(error)

    def reading(self, file_format: FileFormat, *, dimension: int) -> Reading:
        """Return what was kept."""
        vectors_VD = np.frombuffer(self._values, dtype=np.float32).reshape(-1, dimension)
        return Reading(
            space=WordSpace(words=tuple(self._row_of), vectors_VD=vectors_VD),
            file_format=file_format,
            duplicates=self._duplicates,
            skipped=self._skipped,
            first_skipped=self._first_skipped,
            missing=missing_words(self._vocabulary, self._row_of),
        )

    def _accepts(self, place: int, word: bytes, *, is_finite: bool) -> bool:
        try:
            text = word.decode()
        except UnicodeDecodeError:
            self.reject(place, f"the word {word!r} is not UTF-8")
            return False
        if not text or "\n" in text:
            self.reject(place, f"expected a word, found {text!r}")
            return False
        if not is_finite:
            self.reject(
                place, f"the vector of {text!r} is not finite: it holds nan, infinity or a number beyond float32"
            )
            return False
        if text in self._row_of:
            self._duplicates += 1
            return False
        self._row_of[text] = len(self._row_of)
        return True


def missing_words(vocabulary: Collection[str] | None, found: Collection[str]) -> tuple[str, ...]:
    """Return the words of the vocabulary that were not found, in its order, each once."""
    return tuple(word for word in dict.fromkeys(vocabulary or ()) if word not in found)
