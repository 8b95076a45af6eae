"""Numbers of examples → arrays of inputs and targets.

In: a store and the numbers of some of its examples (sentences, or phrases). Out: a `Batch`. Gathered by whole arrays;
the plain loop that says the same stands in the tests.

Shapes: B examples, L input ids with `<eos>`, N targets, M own words.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facetvec.examples.arrays import PHRASE_REACH, mix64
from facetvec.examples.store import Store
from facetvec.vocabulary.tokenizer import EOS_ID, PAD_ID, is_stop_word

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Inputs with their targets, padded with 0 at the end of each row.

    `example_ids` are the numbers of the examples in the store. An input ends in `<eos>`, counted in `lengths`. Targets
    are the words around the example without stop words; `own_ids`, if asked for, the example's own words without them.
    """

    example_ids_B: Ints
    token_ids_BL: Ids
    lengths_B: Ints
    target_ids_BN: Ids
    num_targets_B: Ints
    own_ids_BM: Ids | None
    num_own_B: Ints | None


class Drawer:
    """Draws the examples of one store."""

    def __init__(self, store: Store, *, max_targets: int, own_words: bool) -> None:
        self.is_of_phrases = store.config.unit == "phrase"
        self.max_targets = max_targets
        self.own_words = own_words
        # plain arrays over the mapped files: numpy is slower on its memmap class
        self.tokens, self.offsets = np.asarray(store.tokens), np.asarray(store.offsets)
        self.content, self.content_offsets = np.asarray(store.content), np.asarray(store.content_offsets)
        self.linked = np.append(np.asarray(store.linked), False)
        self.phrase_starts, self.phrase_lengths = np.asarray(store.phrase_starts), np.asarray(store.phrase_lengths)
        self.is_stop_word = is_stop_word(store.words) if self.is_of_phrases else np.zeros(0, np.bool_)

    def lengths(self) -> NDArray[np.uint8]:
        """Return the number of input words of every example."""
        lengths = self.phrase_lengths if self.is_of_phrases else np.diff(self.offsets)
        return lengths.astype(np.uint8)

    def has_targets(self) -> NDArray[np.bool_]:
        """Tell of every example whether it has a target at all; phrases in a store always do."""
        if self.is_of_phrases:
            return np.ones(len(self.phrase_starts), np.bool_)
        has_content = np.append(np.diff(self.content_offsets) > 0, False)
        after_one = self.linked[:-1] & np.append(False, has_content[:-2])
        before_one = self.linked[1:] & has_content[1:]
        found: NDArray[np.bool_] = after_one | before_one
        return found

    def draw(self, example_ids: Ints, *, key: int) -> Batch:
        """Draw examples; `key` decides which targets stay where there are more than `max_targets`."""
        if self.is_of_phrases:
            starts, lengths = self.phrase_starts[example_ids], self.phrase_lengths[example_ids].astype(np.int64)
            targets, num_targets = self._around_phrases(starts, lengths)
        else:
            starts = self.offsets[example_ids]
            lengths = self.offsets[example_ids + 1] - starts
            targets, num_targets = self._around_sentences(example_ids, key=key)
        own, num_own = self._own(example_ids, starts, lengths) if self.own_words else (None, None)
        return Batch(
            example_ids_B=example_ids,
            token_ids_BL=self._inputs(starts, lengths),
            lengths_B=lengths + 1,
            target_ids_BN=targets,
            num_targets_B=num_targets,
            own_ids_BM=own,
            num_own_B=num_own,
        )

    def _inputs(self, starts: Ints, lengths: Ints) -> Ids:
        column = np.arange(lengths.max(initial=0) + 1)
        token_ids = self.tokens.take(starts[:, None] + column, mode="clip").astype(np.int32)
        token_ids[column >= lengths[:, None]] = PAD_ID
        token_ids[np.arange(len(starts)), lengths] = EOS_ID
        return token_ids

    def _around_sentences(self, sentences: Ints, *, key: int) -> tuple[Ids, Ints]:
        """Gather the content of the sentence before and of the one after, where they are of the same document."""
        previous_start = self.content_offsets[np.maximum(sentences - 1, 0)]
        previous = np.where(self.linked[sentences], self.content_offsets[sentences] - previous_start, 0)
        next_start = self.content_offsets[sentences + 1]
        next_end = self.content_offsets[np.minimum(sentences + 2, len(self.content_offsets) - 1)]
        num_all = previous + np.where(self.linked[sentences + 1], next_end - next_start, 0)
        num_targets = np.minimum(num_all, self.max_targets)

        column = np.broadcast_to(np.arange(num_targets.max(initial=0)), (len(sentences), num_targets.max(initial=0)))
        if (crowded := np.flatnonzero(num_all > self.max_targets)).size:
            column = column.copy()
            column[crowded] = _some(sentences[crowded], num_all[crowded], self.max_targets, key=key)
        first = np.where(column < previous[:, None], previous_start[:, None], (next_start - previous)[:, None])
        return _padded(self.content.take(first + column, mode="clip"), num_targets), num_targets

    def _around_phrases(self, starts: Ints, lengths: Ints) -> tuple[Ids, Ints]:
        """Gather the words around phrases inside their sentences; stop words take up room but are left out."""
        sentence = np.searchsorted(self.offsets, starts, side="right") - 1
        position = np.hstack([starts[:, None] - PHRASE_REACH[::-1], (starts + lengths - 1)[:, None] + PHRASE_REACH])
        is_inside = (position >= self.offsets[sentence][:, None]) & (position < self.offsets[sentence + 1][:, None])
        return self._compact(position, is_inside)

    def _own(self, example_ids: Ints, starts: Ints, lengths: Ints) -> tuple[Ids, Ints]:
        if self.is_of_phrases:
            column = np.arange(lengths.max(initial=0))
            return self._compact(starts[:, None] + column, column < lengths[:, None])
        first = self.content_offsets[example_ids]
        num_own = self.content_offsets[example_ids + 1] - first
        column = np.arange(num_own.max(initial=0))
        return _padded(self.content.take(first[:, None] + column, mode="clip"), num_own), num_own

    def _compact(self, position: Ints, is_wanted: NDArray[np.bool_]) -> tuple[Ids, Ints]:
        """Gather tokens at the wanted positions, drop stop words, and move what is left to the front of the rows."""
        token_ids = self.tokens.take(position, mode="clip")
        is_wanted &= ~self.is_stop_word[token_ids]
        num_wanted = is_wanted.sum(axis=1)
        order = np.argsort(~is_wanted, axis=1, kind="stable")[:, : num_wanted.max(initial=0)]
        return _padded(np.take_along_axis(token_ids, order, axis=1), num_wanted), num_wanted


def _padded(token_ids: NDArray[np.unsignedinteger], lengths: Ints) -> Ids:
    padded = token_ids.astype(np.int32)
    padded[np.arange(padded.shape[1]) >= lengths[:, None]] = PAD_ID
    return padded


def _some(example_ids: Ints, num_all: Ints, num_wanted: int, *, key: int) -> Ints:
    """Draw `num_wanted` of the numbers below `num_all` for each example, in ascending order."""
    column = np.arange(num_all.max(), dtype=np.uint64)
    keys = mix64((example_ids.astype(np.uint64) << np.uint64(16))[:, None] + column, key=key)
    keys[column >= num_all.astype(np.uint64)[:, None]] = np.iinfo(np.uint64).max
    return np.sort(np.argpartition(keys, num_wanted - 1, axis=1)[:, :num_wanted], axis=1)
