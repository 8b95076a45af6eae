"""Figures of the ground: preparing text, opening a store, drawing batches, reading vectors, importing the package."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import median_seconds, python, run_process
from facetvec.examples.batches import Batches, Position
from facetvec.examples.store import Store
from facetvec.examples.workers import available_cores


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    what: str
    figure: str
    goal: str


def figures(corpus: Path, folder: Path, *, marker: str | None, is_quick: bool) -> Iterator[Row]:
    """Take the figures one by one."""
    flags = ["--document-marker", marker] if marker else []
    small = folder / "small.txt"
    head(corpus, small, megabytes=8 if is_quick else 24)
    cores = available_cores()
    store = folder / "store"
    for text, workers in ((small, 1), (small, cores), (corpus, 1), (corpus, cores)):
        processes = ["--workers", str(workers)]
        yield preparing(text, store, [*flags, *processes], workers=workers, goal="4 MB/s a core, < 1.5 GB")
    yield opening(store)
    yield from drawing(store)
    phrases = [*flags, "--unit", "phrase", "--workers", "1"]
    yield preparing(small, folder / "phrases", phrases, workers=1, goal="0.3 MB/s a core")
    yield from drawing(folder / "phrases")
    yield from reading_vectors(gigabytes=0.2 if is_quick else 2)
    yield importing()


def head(source: Path, target: Path, *, megabytes: int) -> None:
    """Copy the first megabytes of a text, up to the end of a line."""
    with source.open("rb") as file:
        target.write_bytes(file.read(megabytes * 1_000_000).rpartition(b"\n")[0])


def preparing(text: Path, out: Path, flags: list[str], *, workers: int, goal: str) -> Row:
    shutil.rmtree(out, ignore_errors=True)
    run = run_process(python("-m", "facetvec", "prepare", str(text), "--out", str(out), *flags))
    megabytes = text.stat().st_size / 1e6
    speed = megabytes / run.seconds
    unit = "phrases" if "phrase" in flags else "sentences"
    processes = "1 process" if workers == 1 else f"{workers} processes"
    return Row(
        f"prepare {unit}, {megabytes:.0f} MB, {processes}",
        f"{speed:.1f} MB/s, {run.seconds:.1f} s, {run.peak_bytes / 1e9:.2f} GB at most",
        goal,
    )


def opening(path: Path) -> Row:
    seconds = median_seconds(lambda: Store.open(path), times=20)
    words = len(Store.open(path).tokens) / 1e6
    return Row(f"open a store of {words:.1f} M words", f"{seconds * 1e3:.1f} ms", "50 ms")


def drawing(path: Path) -> Iterator[Row]:
    """Draw two epochs, or as much as ten seconds allow, the order of the first one made beforehand."""
    store = Store.open(path)
    for own_words in (False, True):
        batches = Batches(store, batch_size=256, own_words=own_words)
        batches.draw(Position())
        num_examples = num_tokens = num_padding = 0
        start = time.perf_counter()
        for number in range(2 * len(batches)):
            batch = batches.draw(Position(*divmod(number, len(batches))))
            num_examples += len(batch.lengths_B)
            num_tokens += batch.token_ids_BL.size
            num_padding += batch.token_ids_BL.size - int(np.sum(batch.lengths_B))
            if time.perf_counter() - start > 10:
                break
        speed = num_examples / (time.perf_counter() - start)
        what = f"draw batches of 256 {store.config.unit}s{', own words too' if own_words else ''}, one thread"
        yield Row(what, f"{speed:,.0f} examples/s, {num_padding / num_tokens:.1%} padding", "200,000/s, < 10 %")


def reading_vectors(*, gigabytes: float) -> Iterator[Row]:
    run = run_process(python("-m", "benchmarks.vectors_reading", "--gigabytes", str(gigabytes)))
    for line in run.output.splitlines():
        reader, _, figure = line.partition("  ")
        if figure.strip():
            goal = "100 MB/s, < 0.5 GB" if "vocabulary" in reader else ""
            yield Row(f"read vector text, {reader}", " ".join(figure.split()), goal)


def importing() -> Row:
    bare, ours = (
        median_seconds(partial(subprocess.run, python("-c", code), check=True), times=30)
        for code in ("pass", "import facetvec")
    )
    return Row("`import facetvec`, over bare Python", f"{(ours - bare) * 1e3:.0f} ms", "100 ms")
