"""What a store holds, for people: counts, the lengths of its sentences, a few examples.

In: a store. Out: `StoreFacts`, which prints well and turns into a plain table.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from facetvec.examples.batches import Batches, Position
from facetvec.examples.store import Store

BAR_WIDTH = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """The facts of a store. `lengths[n]` is the number of sentences (or phrases) of n words."""

    path: str
    unit: str
    documents: int
    sentences: int
    sentences_read: int
    phrases: int
    words: int
    vocabulary: int
    unknown_share: float
    validation_documents: int
    validation_sentences: int
    skipped: int
    lengths: dict[int, int]
    frequent_words: list[str]
    examples: list[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as a plain table."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Return the facts as a page of text, with a histogram of the lengths."""
        lines = [
            self.path,
            f"  documents    {self.documents:>13,}",
            f"  sentences    {self.sentences:>13,}  of {self.sentences_read:,}; the others are too short or long",
            f"  words        {self.words:>13,}  {self.unknown_share:.2%} of them unknown",
            f"  vocabulary   {self.vocabulary:>13,}  {' '.join(self.frequent_words)} …",
            f"  held out     {self.validation_sentences:>13,}  sentences, in {self.validation_documents:,} documents",
        ]
        if self.phrases:
            lines.insert(3, f"  phrases      {self.phrases:>13,}")
        if self.skipped:
            lines.append(f"  skipped      {self.skipped:>13,}  pieces of bad input")
        lines += ["", f"words in a {self.unit}", *_histogram(self.lengths)]
        for text, targets in self.examples:
            lines += ["", text, f"  → {targets}"]
        return "\n".join(lines)


def facts_of(store: Store, *, num_examples: int) -> StoreFacts:
    """Gather the facts of a store, with a few examples drawn from all over it."""
    lengths = store.phrase_lengths if store.num_phrases else np.diff(store.offsets)
    per_length = np.bincount(lengths)
    documents = np.asarray(store.documents)
    held_out = documents[store.validation + 1] - documents[store.validation]
    return StoreFacts(
        path=str(store.path),
        unit=store.config.unit,
        documents=store.totals["documents"],
        sentences=store.totals["sentences"],
        sentences_read=store.totals["sentences_read"],
        phrases=store.num_phrases,
        words=store.totals["tokens"],
        vocabulary=len(store.words),
        unknown_share=store.totals["unknown_read"] / max(1, store.totals["tokens_read"]),
        validation_documents=len(store.validation),
        validation_sentences=int(held_out.sum()),
        skipped=store.totals["skipped"],
        lengths={length: int(count) for length, count in enumerate(per_length) if count},
        frequent_words=store.words[3:13],
        examples=_examples(store, num_examples),
    )


def _examples(store: Store, wanted: int) -> list[tuple[str, str]]:
    if wanted == 0:
        return []
    batch = Batches(store, batch_size=wanted, split="all").draw(Position())
    return [
        (store.text(token_ids[: length - 1]), store.text(target_ids[:num_targets]))
        for token_ids, length, target_ids, num_targets in zip(
            batch.token_ids_BL, batch.lengths_B, batch.target_ids_BN, batch.num_targets_B, strict=True
        )
    ]


def _histogram(lengths: dict[int, int]) -> list[str]:
    """Draw a bar for every length, or for every five where there are many."""
    step = 1 if max(lengths) <= 10 else 5
    bins: dict[int, int] = {}
    for length, count in lengths.items():
        bins[length // step] = bins.get(length // step, 0) + count
    most = max(bins.values())
    return [
        f"{_range(number * step, step):>7} {'█' * round(BAR_WIDTH * count / most):<{BAR_WIDTH}} {count:,}"
        for number, count in sorted(bins.items())
    ]


def _range(first: int, step: int) -> str:
    return str(first) if step == 1 else f"{first}–{first + step - 1}"
