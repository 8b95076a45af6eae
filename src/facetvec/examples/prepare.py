"""Raw text → store: two streaming passes, all cores, the same bytes whatever their number.

In: files of text. Out: a folder that `Store.open` opens. The first pass makes a piece of each block of text, while the
counts of words come together; then the vocabulary is chosen, and the second pass writes the pieces as one store. All is
built in `.work` inside the folder: a run that was stopped goes on with the pieces that are there, and the manifest
comes last, so that what is not complete does not open.
"""

import logging
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from facetvec.config import CorpusConfig
from facetvec.errors import InputError, StoreError
from facetvec.examples.merge import merge
from facetvec.examples.pieces import Piece, load_piece
from facetvec.examples.store import FORMAT, MANIFEST, TOKENIZER, VERSION, WORK, Store
from facetvec.examples.workers import Job, available_cores, make_pieces
from facetvec.files import only_run_on, read_json, sha256, write_json
from facetvec.progress import Progress, Step, silent
from facetvec.text.blocks import Block, Skipped, read_blocks
from facetvec.text.sources import Source, find_sources
from facetvec.vocabulary.counts import WordCounts, choose_words
from facetvec.vocabulary.tokenizer import FIRST_WORD_ID, build_tokenizer, is_stop_word, load_tokenizer, words_of

logger = logging.getLogger(__name__)

SMALL = 8 << 20  # bytes of input below which starting worker processes takes longer than it saves


def prepare(
    inputs: Iterable[str | Path],
    *,
    out: str | Path,
    config: CorpusConfig | None = None,
    workers: int | None = None,
    tokenizer: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Store:
    """Make a store of the texts in `inputs` (files, folders, globs, "-") in the folder `out`, and open it.

    `workers` are processes, by default one a core. `tokenizer` is a `tokenizer.json` whose vocabulary to keep. `force`
    replaces a complete store once the new one is.
    """
    out, config = Path(out), config or CorpusConfig()
    sources = find_sources(inputs)
    try:
        with only_run_on(out):
            if (out / MANIFEST).exists() and not force:
                raise StoreError(f"{out}: a complete store is there already; --force replaces it")
            _Preparation(out, config, sources, progress).run(
                workers=workers or _default_workers(sources), fixed=None if tokenizer is None else Path(tokenizer)
            )
    except OSError as error:
        kept = "what is done so far is kept; mend it and run the command again to go on"
        raise StoreError(f"{error.filename or out}: {error.strerror or error}; {kept}") from error
    return Store.open(out)


def describe(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Return what a manifest says of the sources of a store."""
    return [{"name": Path(str(source)).name, "bytes": source.size} for source in sources]


def _default_workers(sources: Sequence[Source]) -> int:
    if all(source.path for source in sources) and sum(source.size for source in sources) < SMALL:
        return 1
    return available_cores()


class _Preparation:
    def __init__(self, out: Path, config: CorpusConfig, sources: Sequence[Source], progress: Progress) -> None:
        self.out, self.config, self.sources, self.progress = out, config, sources, progress
        self.work = out / WORK
        self.skipped: list[str] = []
        self.num_pieces = 0

    def run(self, *, workers: int, fixed: Path | None) -> None:
        self._open_work_folder()
        counts = self._count_words(workers=workers)
        words = self._write_tokenizer(counts, fixed=fixed)
        ids = {word: number for number, word in enumerate(words) if number >= FIRST_WORD_ID}
        totals = merge(self._pieces(), self.work, config=self.config, ids=ids, is_stop_word=is_stop_word(words))
        if not totals["sentences"]:
            low, high = self.config.min_tokens, self.config.max_tokens
            message = f"found {totals['sentences_read']} sentences, none of {low} to {high} words"
            raise InputError(message, path=", ".join(map(str, self.sources[:3])))
        self._complete(totals)

    def _open_work_folder(self) -> None:
        """Make the folder of unfinished work; what was begun with other settings there is dropped."""
        settings = {"version": VERSION, **self.config.to_table()}
        if self.work.exists():
            if _settings_of(self.work) == settings:
                logger.info("%s: going on with the work of a run that was stopped", self.out)
                return
            logger.info("%s: starting anew; unfinished work there was begun with other settings", self.out)
            shutil.rmtree(self.work)
        self.work.mkdir()
        write_json(self.work / "settings.json", settings)

    def _count_words(self, *, workers: int) -> WordCounts:
        """Make all pieces and count their words."""
        counts = WordCounts()
        report = _Report(self.sources, self.progress)
        for block, path in make_pieces(self._jobs(), self.config, workers=workers):
            piece = _load(path)
            counts.add(piece.words, piece.counts.tolist())
            self.skipped += piece.skipped
            self.num_pieces += 1
            report(block)
        if not counts:
            raise InputError(
                "expected text, found no word in all of the input", path=", ".join(map(str, self.sources[:3]))
            )
        return counts

    def _jobs(self) -> Iterator[Job]:
        skipped = Skipped()
        number = 0
        for source in self.sources:
            for block in read_blocks(source, self.config, skipped):
                yield block, self._piece_path(number)
                number += 1
        self.skipped += skipped.messages

    def _piece_path(self, number: int) -> Path:
        return self.work / f"piece-{number:06d}.safetensors"

    def _pieces(self) -> Iterator[Piece]:
        for number in range(self.num_pieces):
            self.progress(Step(stage="writing", done=number, total=self.num_pieces, unit="pieces"))
            yield _load(self._piece_path(number))
        self.progress(Step(stage="writing", done=self.num_pieces, total=self.num_pieces, unit="pieces"))

    def _write_tokenizer(self, counts: WordCounts, *, fixed: Path | None) -> list[str]:
        """Write `tokenizer.json`, that of the user if there is one; return all words in the order of their ids."""
        config = self.config
        if fixed is None:
            words = choose_words(counts, min_count=config.min_count, max_vocabulary=config.max_vocabulary)
            if not words:
                found = f"{len(counts)} distinct words, none {config.min_count} times; try a lower --min-count"
                raise InputError(f"found {found}", path=", ".join(map(str, self.sources[:3])))
            tokenizer = self._tokenizer(words)
        else:
            tokenizer = load_tokenizer(fixed)
            if tokenizer.to_str() != self._tokenizer(words_of(tokenizer)[FIRST_WORD_ID:]).to_str():
                advice = "say --cased or --pretokenized if its store was prepared so"
                raise InputError(f"it cuts words otherwise than this run does; {advice}", path=fixed)
        (self.work / TOKENIZER).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
        return words_of(tokenizer)

    def _tokenizer(self, words: Sequence[str]) -> Tokenizer:
        return build_tokenizer(words, lower=self.config.lower, pretokenized=self.config.tokens != "words")

    def _complete(self, totals: Counter[str]) -> None:
        """Move the finished files to their place, the manifest last."""
        names = sorted(path.name for path in self.work.iterdir() if path.suffix == ".npy" or path.name == TOKENIZER)
        files = {
            name: {"bytes": (self.work / name).stat().st_size, "sha256": sha256(self.work / name)} for name in names
        }
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.config.to_table(),
            "sources": describe(self.sources),
            "totals": dict(sorted(totals.items())) | {"skipped": len(self.skipped)},
            "files": files,
        }
        (self.out / MANIFEST).unlink(missing_ok=True)
        for name in names:
            (self.work / name).replace(self.out / name)
        write_json(self.out / MANIFEST, manifest)
        shutil.rmtree(self.work)
        for message in self.skipped:
            logger.warning("skipped %s", message)


def _settings_of(work: Path) -> dict[str, Any] | None:
    try:
        return read_json(work / "settings.json")
    except StoreError:
        return None


def _load(path: Path) -> Piece:
    piece = load_piece(path)
    if piece is None:
        raise StoreError(f"{path}: gone or damaged while in use; run the command again")
    return piece


class _Report:
    """Tells progress in bytes on the disk, and the speed in bytes of text."""

    def __init__(self, sources: Sequence[Source], progress: Progress) -> None:
        self.total = sum(source.size for source in sources) if all(source.path for source in sources) else None
        self.progress = progress
        self.read: dict[str, int] = {}
        self.num_bytes = 0
        self.start = time.perf_counter()

    def __call__(self, block: Block) -> None:
        self.read[block.source] = block.end
        self.num_bytes += len(block.data) + sum(len(text) for _, text in block.records)
        speed = self.num_bytes / (time.perf_counter() - self.start) / 1e6
        done = self.num_bytes if self.total is None else sum(self.read.values())
        self.progress(Step(stage="reading", done=done, total=self.total, unit="B", note=f"{speed:.1f} MB/s of text"))
