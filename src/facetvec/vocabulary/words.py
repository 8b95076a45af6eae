"""Sentences → words, fast, and the ids that one block of text gives them.

In: the sentences of a block. Out: a flat list of words with `SENTENCE_END` after each sentence, and local ids in the
order in which words first occur: what a worker process can say before anyone knows the vocabulary.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetvec.files import import_extra
from facetvec.vocabulary import rules

SENTENCE_END = "\n"


@dataclass(frozen=True, slots=True)
class WordCutter:
    """Cuts sentences into words: `text` puts them in the form in which `cut` finds words, case kept."""

    text: Callable[[Sequence[str]], str]
    cut: Callable[[str], list[str]]


def word_cutter(name: str) -> WordCutter:
    """Return the way of cutting that a setting names.

    "words" follows the rules of `facetvec.vocabulary.rules`, "blanks" takes what stands between blanks, "spacy" is
    spaCy's English tokeniser.
    """
    if name == "words":
        return WordCutter(lambda sentences: _ended(sentences, rules.normalize), rules.word_pattern().findall)
    find_between_blanks = re.compile(r"\n|" + rules.between_blanks(r"\s")).findall
    if name == "blanks":
        return WordCutter(lambda sentences: _ended(sentences, _composed), find_between_blanks)
    spacy: Any = import_extra("spacy", extra="text", purpose="the tokeniser 'spacy'")
    tokenize = spacy.blank("en").tokenizer.pipe

    def cut_by_spacy(sentences: Sequence[str]) -> str:
        cut = [" ".join(token.text for token in document) for document in tokenize(sentences)]
        return _ended(cut, _composed)

    return WordCutter(cut_by_spacy, find_between_blanks)


class LocalIds(dict[str, int]):
    """Words with ids in the order of their first look-up; the end of a sentence is 0."""

    def __init__(self) -> None:
        super().__init__({SENTENCE_END: 0})

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number

    def look_up(self, words: Sequence[str]) -> NDArray[np.uint32]:
        """Return the ids of words, adding those that are new."""
        return np.fromiter(map(self.__getitem__, words), np.uint32, len(words))


def _ended(sentences: Sequence[str], normalize: Callable[[str], str]) -> str:
    """Join sentences, each with its end; only those beyond ASCII need to be normalised."""
    return "".join([f"{text if text.isascii() else normalize(text)}{SENTENCE_END}" for text in sentences])


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
