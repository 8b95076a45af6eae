"""Pieces → the arrays of a store: the second pass over the corpus, on numbers alone.

In: the pieces in order, and the ids of the words. Out: the arrays of the store. One piece is in memory at a time; what
spans pieces is whether a document goes on and whether the sentence before was kept.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from facetvec.config import CorpusConfig
from facetvec.examples.arrays import PHRASE_REACH, ArrayWriter, mix64
from facetvec.examples.pieces import Piece
from facetvec.text.phrases import MAX_PHRASE_WORDS
from facetvec.vocabulary.counts import encode_words
from facetvec.vocabulary.tokenizer import PAD_ID, UNK_ID

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def merge(
    pieces: Iterable[Piece], folder: Path, *, config: CorpusConfig, ids: Mapping[str, int], is_stop_word: Bools
) -> Counter[str]:
    """Write the arrays of a store into `folder` and return its totals. `is_stop_word` has an entry for each id."""
    token_type = np.uint16 if len(is_stop_word) <= 1 << 16 else np.uint32
    types: dict[str, DTypeLike] = {"tokens": token_type, "content": token_type, "linked": np.bool_}
    types |= dict.fromkeys(("offsets", "content_offsets", "documents"), np.int64)
    if config.unit == "phrase":
        types |= {"phrase_starts": np.int64, "phrase_lengths": np.uint8, "phrase_keys": np.uint64}
    with ExitStack() as stack:
        writers = {name: stack.enter_context(ArrayWriter(folder / f"{name}.npy", kind)) for name, kind in types.items()}
        merging = _Merging(config=config, ids=ids, is_stop_word=is_stop_word, writers=writers)
        for piece in pieces:
            merging.add(piece)
        merging.finish()
    np.save(folder / "counts.npy", merging.counts)
    np.save(folder / "validation.npy", _held_out(np.load(folder / "documents.npy"), config))
    if config.unit == "phrase":
        merging.totals["phrases"] = _drop_rare_phrases(folder, min_count=config.min_phrase_count)
    return merging.totals


def _held_out(documents: Ints, config: CorpusConfig) -> Ints:
    """Choose whole documents for validation by their number alone, up to the wanted share of the sentences."""
    wanted = min(config.validation_share * documents[-1], config.max_validation)
    order = np.argsort(mix64(np.arange(len(documents) - 1, dtype=np.uint64), key=1))
    num_sentences = np.cumsum(np.diff(documents)[order])
    num_documents = int(np.searchsorted(num_sentences, wanted, side="right"))
    if num_documents == 0 and wanted > 0 and len(order) > 1:
        num_documents = 1
    return np.sort(order[:num_documents])


def _drop_rare_phrases(folder: Path, *, min_count: int) -> int:
    """Keep the phrases whose words occur together often enough; return how many occurrences there are."""
    keys = np.load(folder / "phrase_keys.npy")
    distinct, counts = np.unique(keys, return_counts=True)
    is_kept = np.isin(keys, distinct[counts >= min_count])
    for name in ("phrase_starts", "phrase_lengths"):
        kept = np.load(folder / f"{name}.npy")[is_kept]
        np.save(folder / f"{name}.npy", kept)
    (folder / "phrase_keys.npy").unlink()
    return int(np.count_nonzero(is_kept))


@dataclass(kw_only=True)
class _Merging:
    config: CorpusConfig
    ids: Mapping[str, int]
    is_stop_word: Bools
    writers: dict[str, ArrayWriter]
    totals: Counter[str] = field(default_factory=Counter)
    sentence_goes_before: bool = False  # the last sentence was kept, and its document has not ended
    document_is_open: bool = False  # the document that has not ended holds sentences

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.is_stop_word), np.int64)
        self.write("offsets", np.zeros(1))
        self.write("content_offsets", np.zeros(1))

    def write(self, name: str, part: NDArray[Any]) -> None:
        self.writers[name].append(part)

    def add(self, piece: Piece) -> None:
        """Append the sentences, and the phrases, of one piece."""
        token_ids, ends = self._encode(piece)
        starts, lengths, document = _sentences(piece, ends)
        is_kept = (lengths >= self.config.min_tokens) & (lengths <= self.config.max_tokens)
        num_tokens, num_sentences = self.writers["tokens"].length, self.writers["linked"].length
        num_documents = len(piece.document_sentences)

        self.write("linked", self._links(document, is_kept, num_documents)[is_kept])
        self.write("documents", num_sentences + self._document_starts(document[is_kept], num_documents))
        self._add_tokens(token_ids[np.repeat(is_kept, lengths)], lengths[is_kept])
        if self.config.unit == "phrase":
            kept_before = np.cumsum(lengths * is_kept) - lengths * is_kept
            moves = num_tokens + kept_before - starts
            self._add_phrases(piece, ends, token_ids, starts=starts, is_kept=is_kept, moves=moves)
        self.totals["sentences_read"] += len(lengths)
        self.totals["tokens_read"] += len(token_ids)
        self.totals["unknown_read"] += int(np.count_nonzero(token_ids == UNK_ID))

    def finish(self) -> None:
        """Close the last document."""
        num_sentences = self.writers["linked"].length
        self.totals["sentences"] = num_sentences
        self.totals["documents"] = self.writers["documents"].length
        self.totals["tokens"] = self.writers["tokens"].length
        self.write("documents", np.array([num_sentences]))

    def _encode(self, piece: Piece) -> tuple[Ints, Ints]:
        """Return the ids of the piece's words, and where those of its first i words end, for each i from 0."""
        flat, num_ids = encode_words(piece.words, self.ids)
        lengths = num_ids[piece.local_ids]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        first = (np.cumsum(num_ids) - num_ids)[piece.local_ids]
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        return flat[np.repeat(first, lengths) + within], ends

    def _links(self, document: Ints, is_kept: Bools, num_documents: int) -> Bools:
        """Tell of each sentence whether it was kept, and the one before it in its document too."""
        if len(document) == 0:
            self.sentence_goes_before &= num_documents == 1
            return is_kept
        same_document = np.diff(document, prepend=0) == 0
        before = np.concatenate([[self.sentence_goes_before], is_kept[:-1]])
        self.sentence_goes_before = bool(is_kept[-1]) and document[-1] == num_documents - 1
        links: Bools = is_kept & before & same_document
        return links

    def _document_starts(self, document: Ints, num_documents: int) -> Ints:
        """Return which of the kept sentences are the first of a document; `document` numbers theirs in the piece."""
        if len(document) == 0:
            self.document_is_open &= num_documents == 1
            return document
        is_first = np.diff(document, prepend=0 if self.document_is_open else -1) > 0
        self.document_is_open = document[-1] == num_documents - 1
        return np.flatnonzero(is_first)

    def _add_tokens(self, token_ids: Ints, lengths: Ints) -> None:
        is_content = ~self.is_stop_word[token_ids]
        ends = np.cumsum(lengths)
        content_ends = np.concatenate([[0], np.cumsum(is_content)])[ends]
        self.write("offsets", self.writers["tokens"].length + ends)
        self.write("content_offsets", self.writers["content"].length + content_ends)
        self.write("tokens", token_ids)
        self.write("content", token_ids[is_content])
        self.counts += np.bincount(token_ids, minlength=len(self.counts))

    def _add_phrases(
        self, piece: Piece, ends: Ints, token_ids: Ints, *, starts: Ints, is_kept: Bools, moves: Ints
    ) -> None:
        """Append the phrases of kept sentences; `moves` leads from places in the piece to places in the store.

        Phrases with an unknown word, and those with no word to learn from around them, are left out.
        """
        word, num_words = piece.phrases.astype(np.int64).T
        first, last = ends[word], ends[word + num_words]
        first = np.maximum(first, last - MAX_PHRASE_WORDS)  # a compound may have fallen into parts
        sentence = np.searchsorted(starts, first, side="right") - 1
        position = first[:, None] + np.arange(MAX_PHRASE_WORDS)
        ids_PW = np.where(position < last[:, None], token_ids.take(position, mode="clip"), PAD_ID)
        bounds = np.append(starts, len(token_ids))
        has_target = self._has_content_around(token_ids, first, last, bounds[sentence], bounds[sentence + 1])
        is_good = is_kept[sentence] & ~(ids_PW == UNK_ID).any(axis=1) & has_target
        keys = np.zeros(len(first), np.uint64)
        for ids in ids_PW.T:
            keys = mix64(keys ^ ids.astype(np.uint64), key=1)
        self.write("phrase_starts", (first + moves[sentence])[is_good])
        self.write("phrase_lengths", (last - first)[is_good])
        self.write("phrase_keys", keys[is_good])

    def _has_content_around(self, token_ids: Ints, first: Ints, last: Ints, low: Ints, high: Ints) -> Bools:
        position = np.hstack([(first[:, None] - PHRASE_REACH), (last[:, None] - 1 + PHRASE_REACH)])
        is_inside = (position >= low[:, None]) & (position < high[:, None])
        is_content = ~self.is_stop_word[token_ids.take(position, mode="clip")]
        has_content: Bools = np.logical_or.reduce(is_inside & is_content, axis=1)
        return has_content


def _sentences(piece: Piece, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return of each sentence that is not empty where its ids start, how many they are, and which document it is in."""
    word_ends = np.cumsum(piece.lengths, dtype=np.int64)
    starts = ends[word_ends - piece.lengths]
    lengths = ends[word_ends] - starts
    document = np.repeat(np.arange(len(piece.document_sentences)), piece.document_sentences)
    has_words = lengths > 0
    return starts[has_words], lengths[has_words], document[has_words]
