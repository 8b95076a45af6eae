"""The store: a corpus as numbers, mapped into memory, opened in milliseconds at any size.

In: a folder that `prepare` wrote. Out: its arrays, without copying. The files:

    tokenizer.json        words and their ids, the rules of cutting
    counts.npy            how often each id occurs in `tokens`                                              [V]
    tokens.npy            the ids of all sentences, one after the other                                     [T]
    offsets.npy           sentence s is tokens[offsets[s]:offsets[s + 1]]                                   [S + 1]
    content.npy           tokens without stop words, what sentences give as targets                         [C]
    content_offsets.npy   the content of s is content[content_offsets[s]:content_offsets[s + 1]]            [S + 1]
    linked.npy            whether s follows directly on s - 1, with nothing left out between                [S]
    documents.npy         document d has the sentences documents[d] to documents[d + 1]                     [N + 1]
    validation.npy        the documents held out for validation                                             [H]
    manifest.json         version, settings, totals, size and SHA-256 of each file; written last

and for phrases

    phrase_starts.npy     the position of the first word of phrase p in `tokens`, ascending                 [P]
    phrase_lengths.npy    its number of words                                                               [P]
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from facetvec.config import CorpusConfig
from facetvec.errors import StoreError
from facetvec.files import read_json, sha256
from facetvec.vocabulary.tokenizer import load_tokenizer, words_of

FORMAT, VERSION = "facetvec-store", 1
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
WORK = ".work"
ARRAYS = (
    "counts", "tokens", "offsets", "content", "content_offsets", "linked", "documents", "validation",
)  # fmt: skip
PHRASE_ARRAYS = ("phrase_starts", "phrase_lengths")
Array = NDArray[Any]


@dataclass(frozen=True)
class Store:
    """A prepared corpus; the arrays are those of the module's description."""

    path: Path
    config: CorpusConfig
    totals: dict[str, int]
    counts: Array
    tokens: Array
    offsets: Array
    content: Array
    content_offsets: Array
    linked: Array
    documents: Array
    validation: Array
    phrase_starts: Array
    phrase_lengths: Array

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a store. Sizes are checked here; `verify` checks every byte."""
        path = Path(path)
        manifest = read_manifest(path)
        for name, facts in manifest["files"].items():
            _check_size(path / name, facts["bytes"])
        arrays = {name: _map(path / f"{name}.npy") for name in ARRAYS}
        is_of_phrases = manifest["settings"]["unit"] == "phrase"
        empty = np.zeros(0, np.int64)
        arrays |= {name: _map(path / f"{name}.npy") if is_of_phrases else empty for name in PHRASE_ARRAYS}
        config = CorpusConfig.from_table(manifest["settings"])
        return cls(path=path, config=config, totals=manifest["totals"], **arrays)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer whose ids the store holds."""
        return load_tokenizer(self.path / TOKENIZER)

    @cached_property
    def words(self) -> list[str]:
        """The words in the order of their ids."""
        return words_of(self.tokenizer)

    @property
    def num_sentences(self) -> int:
        """How many sentences the store holds."""
        return len(self.linked)

    @property
    def num_phrases(self) -> int:
        """How many occurrences of phrases the store holds; 0 in a store of sentences."""
        return len(self.phrase_starts)

    def probabilities(self) -> NDArray[np.float64]:
        """Return p(w) of each id: its share of all tokens."""
        shares: NDArray[np.float64] = self.counts / max(1, int(self.counts.sum()))
        return shares

    def text(self, token_ids: Array) -> str:
        """Return ids as words with blanks between."""
        return " ".join(self.words[number] for number in token_ids)

    def verify(self) -> None:
        """Read every file and compare it with the manifest's SHA-256."""
        for name, facts in read_manifest(self.path)["files"].items():
            if sha256(self.path / name) != facts["sha256"]:
                raise StoreError(f"{self.path / name}: its bytes are not those that were written; prepare it again")


def read_manifest(path: Path) -> dict[str, Any]:
    """Read what a store says of itself; without a manifest it is not complete."""
    if not (path / MANIFEST).is_file():
        what = "is not complete; run `facetvec prepare` again" if (path / WORK).exists() else "holds no store"
        raise StoreError(f"{path}: {what}" if path.is_dir() else f"{path}: no such folder")
    manifest = read_json(path / MANIFEST)
    if manifest.get("format") != FORMAT:
        raise StoreError(f"{path / MANIFEST}: expected the format {FORMAT!r}, found {manifest.get('format')!r}")
    if manifest.get("version") != VERSION:
        found = manifest.get("version")
        raise StoreError(f"{path / MANIFEST}: this facetvec reads version {VERSION}, found {found!r}; prepare it again")
    return manifest


def _check_size(path: Path, size: int) -> None:
    found = path.stat().st_size if path.exists() else None
    if found != size:
        what = "it is missing" if found is None else f"found {found}"
        raise StoreError(f"{path}: expected {size} bytes, {what}; prepare it again")


def _map(path: Path) -> Array:
    try:
        mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise StoreError(f"{path}: not an array that can be read ({error}); prepare it again") from error
    return mapped
