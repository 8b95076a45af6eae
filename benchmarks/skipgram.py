"""Trains word vectors with both engines on a store; prints speed, memory and the word-similarity scores.

    python -m benchmarks.skipgram --store FOLDER --dims 256,300 --epochs 5 [--data FOLDER] [--out FOLDER]

In: a store, and a folder of word-similarity tests (*.txt: two words and a score a line). Out: a line for every
combination of the comma-separated settings; vectors as float16 in files of at most 15 MB.
`--profile` shows where the time of the first combination goes, on two million tokens.
"""

import argparse
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from facetvec.examples.store import Store
from facetvec.vectors.skipgram import keep_probabilities, make_plan
from facetvec.vectors.training import SkipGramSettings, choose_device, train_vectors

FIRST_WORD = 3
PROFILED_TOKENS = 2_000_000
FILE_BYTES = 15_000_000


class Stream:
    """The arrays of a prepared text."""

    def __init__(self, folder: Path, *, max_tokens: int | None) -> None:
        store = Store.open(folder)
        self.token_ids, self.offsets, self.counts = store.tokens, store.offsets, store.counts
        if max_tokens is not None:
            self.offsets = self.offsets[: np.searchsorted(self.offsets, max_tokens, side="right")]
            self.token_ids = self.token_ids[: self.offsets[-1]]
            self.counts = np.bincount(self.token_ids, minlength=len(self.counts))

        self.id_of = {word: i for i, word in enumerate(store.words)}

    def train(self, settings: SkipGramSettings, *, engine: str, options: argparse.Namespace) -> NDArray[np.float32]:
        return train_vectors(
            self.token_ids,
            offsets=self.offsets,
            counts=self.counts,
            first_word=FIRST_WORD,
            settings=settings,
            engine="gensim" if engine == "gensim" else "torch",
            device=options.device,
            workers=options.workers,
        )


def main() -> None:
    options = read_options()
    stream = Stream(options.store, max_tokens=options.max_tokens)
    print(f"{len(stream.token_ids):,} tokens, {len(stream.offsets) - 1:,} sentences, {len(stream.counts):,} ids")
    for engine in options.engines:
        varied = (options.batches, options.shared, options.rates) if engine == "torch" else ([16384], [None], [None])
        for dim, batch_size, shared, rate in itertools.product(options.dims, *varied):
            settings = SkipGramSettings(
                dim=dim,
                epochs=options.epochs,
                seed=options.seed,
                batch_size=batch_size,
                shared_negatives=shared,
                learning_rate=rate,
            )
            measure(stream, settings, engine=engine, options=options)
    if options.profile:
        settings = SkipGramSettings(dim=options.dims[0], epochs=1, batch_size=options.batches[0])
        profile(Stream(options.store, max_tokens=PROFILED_TOKENS), settings, options=options)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--engines", type=listed(str), default=["torch"])
    parser.add_argument("--dims", type=listed(int), default=[300])
    parser.add_argument("--batches", type=listed(int), default=[16384])
    parser.add_argument("--shared", type=listed(int), default=[None])
    parser.add_argument("--rates", type=listed(float), default=[None])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


def listed(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda text: [kind(item) for item in text.split(",")]


def measure(stream: Stream, settings: SkipGramSettings, *, engine: str, options: argparse.Namespace) -> None:
    """Train once; print seconds, speed, memory and scores; write the vectors."""
    on_gpu = engine == "torch" and choose_device(options.device).type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    vectors = stream.train(settings, engine=engine, options=options)
    seconds = time.perf_counter() - start
    counts = np.where(np.arange(len(stream.counts)) < FIRST_WORD, 0, stream.counts)
    num_centres = int(keep_probabilities(counts, subsample=settings.subsample) @ counts)
    tokens_a_second = settings.epochs * len(stream.token_ids) / seconds
    report = [f"{engine} {settings.dim} d: {seconds:.1f} s", f"{tokens_a_second:,.0f} tokens/s"]
    report.append(f"{settings.epochs * num_centres / seconds:,.0f} centres/s")
    if engine == "torch":
        plan = make_plan(settings, num_centres=num_centres, is_gpu=on_gpu)
        report.append(f"{1000 * seconds / plan.num_steps:.3f} ms/step, {plan}")
    if on_gpu:
        report.append(f"{torch.cuda.max_memory_allocated() / 1e9:.2f} GB on the device")
    if options.data and options.data.is_dir():
        report += [similarity(path, vectors, stream=stream) for path in sorted(options.data.glob("*.txt"))]
    print(" | ".join(report), flush=True)
    if options.out:
        name = f"{engine}-{settings.dim}-{settings.batch_size}-{settings.shared_negatives}-{settings.learning_rate}"
        write(vectors.astype(np.float16), options.out, name=name)


def write(vectors: NDArray[np.float16], folder: Path, *, name: str) -> None:
    """Write the rows in order into NAME.0.npy, NAME.1.npy, …"""
    folder.mkdir(parents=True, exist_ok=True)
    for index, part in enumerate(np.array_split(vectors, -(-vectors.nbytes // FILE_BYTES))):
        np.save(folder / f"{name}.{index}.npy", part)


def similarity(path: Path, vectors: NDArray[np.float32], *, stream: Stream) -> str:
    """Return Spearman's correlation of the cosines with people's scores, and the share of pairs that have vectors."""
    rows = [line.lower().split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    ids = [[stream.id_of.get(first, 0), stream.id_of.get(second, 0), float(score)] for first, second, score in rows]
    pairs = np.array([row for row in ids if all(stream.counts[int(i)] and i >= FIRST_WORD for i in row[:2])])
    if len(pairs) < 2:
        return f"{path.stem} no pairs"
    cosines = np.sum(vectors[pairs[:, 0].astype(int)] * vectors[pairs[:, 1].astype(int)], axis=1)
    spearman = np.corrcoef(ranks(cosines), ranks(pairs[:, 2]))[0, 1]
    return f"{path.stem} {spearman:.3f} ({len(pairs) / len(rows):.0%} of pairs)"


def ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Rank the values from 1; equal values share the mean of their ranks."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mean_ranks: NDArray[np.float64] = np.cumsum(sizes) - (sizes - 1) / 2
    return mean_ranks[group]


def profile(stream: Stream, settings: SkipGramSettings, *, options: argparse.Namespace) -> None:
    """Print where the time goes."""
    with torch.profiler.profile() as profiler:
        stream.train(settings, engine="torch", options=options)
    order = "self_device_time_total" if choose_device(options.device).type == "cuda" else "self_cpu_time_total"
    print(profiler.key_averages().table(sort_by=order, row_limit=25, max_name_column_width=60))


if __name__ == "__main__":
    main()
