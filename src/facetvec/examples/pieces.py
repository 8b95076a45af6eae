"""One block of text → one piece: its sentences as numbers, before anyone knows the vocabulary of the corpus.

In: a block. Out: a piece, kept in a file of its own so that work that was stopped can go on. Words have local ids,
given in the order in which they occur; the merge gives them their ids for good. Runs in worker processes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from facetvec.config import CorpusConfig
from facetvec.files import atomic_write
from facetvec.text.blocks import Block, Skipped
from facetvec.text.documents import DOCUMENT_END, paragraphs
from facetvec.text.phrases import phrase_finder
from facetvec.text.sentences import segmenter
from facetvec.vocabulary.rules import lower
from facetvec.vocabulary.words import SENTENCE_END, LocalIds, word_cutter

UInts = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The sentences of a block.

    `words[i]` has the local id i and occurs `counts[i]` times; `local_ids` are those of all sentences, one after the
    other, `lengths[s]` of them in sentence s. `document_sentences` are the numbers of sentences of the documents; the
    first document goes on from the piece before. Row p of `phrases` is a phrase: the position of its first word among
    `local_ids` and its number of words.
    """

    digest: str
    words: list[str]
    counts: UInts
    local_ids: UInts
    lengths: UInts
    document_sentences: UInts
    phrases: UInts
    skipped: list[str]


class PieceMaker:
    """Turns blocks into pieces; holds what is slow to build: segmenter, cutter, tagger."""

    def __init__(self, config: CorpusConfig) -> None:
        self.config = config
        self.split = segmenter(config.segmenter)
        self.cutter = word_cutter(config.tokens)
        self.find_phrases = phrase_finder(config.tagger) if config.unit == "phrase" else None

    def make(self, block: Block) -> Piece:
        """Make the piece of a block."""
        skipped = Skipped()
        sentences, document_sentences = self._sentences(paragraphs(block, self.config, skipped))
        text = self.cutter.text(sentences)
        words = self.cutter.cut(lower(text) if self.config.lower else text)
        ids = LocalIds()
        with_ends = ids.look_up(words)
        is_end = with_ends == 0
        ends = np.flatnonzero(is_end) - np.arange(len(sentences))
        local_ids = with_ends[~is_end] - 1
        lengths = np.diff(ends, prepend=0)
        return Piece(
            digest=block.digest(),
            words=list(ids)[1:],
            counts=np.bincount(local_ids, minlength=len(ids) - 1).astype(np.uint32),
            local_ids=local_ids,
            lengths=lengths.astype(np.uint32),
            document_sentences=np.array(document_sentences, np.uint32),
            phrases=self._phrases(text, words, lengths),
            skipped=skipped.messages,
        )

    def _sentences(self, found: Iterator[str | None]) -> tuple[list[str], list[int]]:
        sentences: list[str] = []
        document_sentences, start = [], 0
        for paragraph in found:
            if paragraph is DOCUMENT_END:
                document_sentences.append(len(sentences) - start)
                start = len(sentences)
            else:
                sentences += self.split(paragraph)
        return sentences, [*document_sentences, len(sentences) - start]

    def _phrases(self, text: str, words: Sequence[str], lengths: NDArray[np.int64]) -> UInts:
        """Find the phrases of all sentences; the tagger sees the words in their own case."""
        if self.find_phrases is None:
            return np.zeros((0, 2), np.uint32)
        cased = self.cutter.cut(text)
        if len(cased) != len(words):  # a letter whose lower case is cut otherwise
            cased = list(words)
        cased = [word for word in cased if word != SENTENCE_END]
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        found = self.find_phrases([cased[start:end] for start, end in zip(starts, ends, strict=True)])
        rows = [
            (start + first, last - first)
            for start, spans in zip(starts, found, strict=True)
            for first, last in spans
        ]  # fmt: skip
        return np.array(rows, np.uint32).reshape(-1, 2)


def save_piece(piece: Piece, path: Path) -> None:
    """Write a piece, whole or not at all."""
    texts = {"digest": piece.digest, "words": "\n".join(piece.words), "skipped": "\n".join(piece.skipped)}
    arrays = {name: np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8) for name, text in texts.items()}
    arrays |= {field.name: getattr(piece, field.name) for field in fields(piece) if field.name not in texts}
    with atomic_write(path) as file:
        file.write(save(arrays))


def load_piece(path: Path) -> Piece | None:
    """Read a piece; None where there is none, or none that is whole."""
    arrays = _load_arrays(path)
    if arrays is None:
        return None
    texts = {name: _text(arrays.pop(name)) for name in ("digest", "words", "skipped")}
    return Piece(
        digest=texts["digest"],
        words=texts["words"].split("\n") if texts["words"] else [],
        skipped=texts["skipped"].split("\n") if texts["skipped"] else [],
        **arrays,
    )


def load_digest(path: Path) -> str | None:
    """Read the fingerprint of the block that a piece was made from; None where no whole piece is."""
    arrays = _load_arrays(path)
    return None if arrays is None else _text(arrays["digest"])


def _load_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    try:
        return load(path.read_bytes())
    except (FileNotFoundError, SafetensorError):
        return None


def _text(encoded: NDArray[np.uint8]) -> str:
    return encoded.tobytes().decode("utf-8", "surrogateescape")
