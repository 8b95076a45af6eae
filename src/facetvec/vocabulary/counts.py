"""How often words occur, and which of them make the vocabulary.

In: the words of each block with their counts, in the order of the blocks. Out: the words of the vocabulary, the most
frequent first, equal counts in the order of their characters. Memory stays bounded: when too many distinct words have
come together, the rarest so far are forgotten.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from facetvec.vocabulary.rules import is_compound, parts
from facetvec.vocabulary.tokenizer import SPECIAL_WORDS, UNK_ID

MAX_DISTINCT_WORDS = 4_000_000  # about 0.6 GB of memory; English reaches it after some 200 M words


class WordCounts(dict[str, int]):
    """Words with their counts, filled block by block."""

    def __init__(self, *, max_distinct: int = MAX_DISTINCT_WORDS) -> None:
        super().__init__()
        self.max_distinct = max_distinct
        self.floor = 1

    def add(self, words: Iterable[str], counts: Iterable[int]) -> None:
        """Add the words of one block; forget the rarest if there are too many."""
        get = self.get
        for word, count in zip(words, counts, strict=True):
            self[word] = get(word, 0) + count
        while len(self) > self.max_distinct:
            self.floor += 1
            for word in [word for word, count in self.items() if count < self.floor]:
                del self[word]


def choose_words(counts: Mapping[str, int], *, min_count: int, max_vocabulary: int | None) -> list[str]:
    """Choose the vocabulary: words that occur `min_count` times, at most `max_vocabulary`, the most frequent first.

    A compound that is too rare counts for its parts.
    """
    chosen = {word: count for word, count in counts.items() if count >= min_count or not is_compound(word)}
    for word, count in counts.items():
        if count < min_count and is_compound(word):
            for part in parts(word):
                chosen[part] = chosen.get(part, 0) + count
    frequent = (word for word, count in chosen.items() if count >= min_count and word not in SPECIAL_WORDS)
    return sorted(frequent, key=lambda word: (-chosen[word], word))[:max_vocabulary]


def encode_words(words: Sequence[str], ids: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look up words: all their ids in one array, and how many each word takes.

    An unknown compound takes the ids of its parts, any other unknown word that of `<unk>`.
    """
    flat: list[int] = []
    num_ids = np.ones(len(words), np.int64)
    for position, word in enumerate(words):
        number = ids.get(word)
        if number is None and is_compound(word):
            found = [ids.get(part, UNK_ID) for part in parts(word)]
            flat += found
            num_ids[position] = len(found)
        else:
            flat.append(UNK_ID if number is None else number)
    return np.array(flat, np.int64), num_ids
