"""How fast a network trains: examples a second of whole steps, for shapes and batch sizes.

    python -m benchmarks.training [--store FOLDER] [--shapes paper,fast] [--batches 1024,2048] [--seconds 15]

Without a store it makes up text; word vectors are random. On a GPU it takes steps launched kernel by kernel, then steps
replayed from a recording. Prints milliseconds a step, examples a second, and the rate of operations in the linear maps
of the network (6 for a weight and a token, forward and backward). `--profile` shows where the time goes.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.measure import write_made_up_text
from facetvec.config import CorpusConfig, TrainingConfig
from facetvec.examples.batches import Position
from facetvec.examples.prepare import prepare
from facetvec.examples.store import Store
from facetvec.model.shape import ModelConfig, model_config
from facetvec.trainer.run import Run
from facetvec.vectors import WordSpace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--shapes", default="paper,fast")
    parser.add_argument("--batches", default="1024,2048")
    parser.add_argument("--facets", type=int, default=10)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(options.store) if options.store else made_up_store(Path(folder))
        for shape in options.shapes.split(","):
            for batch_size in map(int, options.batches.split(",")):
                measure(store, shape, batch_size=batch_size, options=options)


def made_up_store(folder: Path) -> Store:
    write_made_up_text(folder / "text.txt", megabytes=40)
    return prepare([folder / "text.txt"], out=folder / "store", config=CorpusConfig(min_count=1))


def measure(store: Store, shape: str, *, batch_size: int, options: argparse.Namespace) -> None:
    """Print the speed of one shape, with and without recorded steps where there are any."""
    model = model_config(
        "paper" if shape == "paper" else "fast",
        unit="sentence",
        vocabulary_size=len(store.words),
        table={"num_facets": options.facets},
    )
    vectors = np.random.default_rng(0).normal(size=(len(store.words) - 3, model.dim)).astype(np.float32)
    space = WordSpace(words=tuple(store.words[3:]), vectors_VD=vectors)
    config = TrainingConfig.from_table({"batch_size": batch_size, "precision": options.precision})
    run = Run(store, space, folder=Path("unused"), model=model, config=config, device=options.device)
    graphs = run.learner.graphs
    for is_recorded in (False, True) if graphs else (False,):
        run.learner.graphs = graphs if is_recorded else None
        speed, milliseconds = steps_for(run, seconds=options.seconds)
        rate = operations_an_example(run, model) * speed
        how = "recorded" if is_recorded else "launched"
        print(
            f"{shape} K {model.num_facets} batch {batch_size} {how} {run.learner.precision}: "
            f"{milliseconds:.1f} ms a step, {speed:,.0f} examples/s, {rate / 1e12:.1f} TFLOP/s",
            flush=True,
        )
    if options.profile:
        profile(run)


def steps_for(run: Run, *, seconds: float) -> tuple[float, float]:
    """Take steps for some seconds, after as many to warm up; return examples a second and milliseconds a step."""
    for measured in (False, True):
        _wait(run)
        start, num_steps, num_examples = time.perf_counter(), 0, 0
        for batch in run._stream():
            run._step(batch, share=0.5)
            num_steps += 1
            num_examples += len(batch.lengths_B)
            if num_steps % 10 == 0:
                _wait(run)
            if time.perf_counter() - start > seconds * (1 if measured else 0.7):
                break
        _wait(run)
    taken = time.perf_counter() - start
    return num_examples / taken, 1e3 * taken / num_steps


def operations_an_example(run: Run, model: ModelConfig) -> float:
    """Count the operations of the network's linear maps, forward and backward, for a text of mean length."""
    lengths = [run.train_batches.draw(Position(0, number)).lengths_B.mean() for number in range(20)]
    count = {
        name: sum(p.numel() for n, p in run.learner.network.named_parameters() if n.startswith(name)) for name in PARTS
    }
    per_token = count["encoder"] * float(np.mean(lengths))
    return 6 * (per_token + count["facet_maps"] + (count["decoder"] + count["output"]) * model.num_facets)


PARTS = ("encoder", "facet_maps", "decoder", "output")


def _wait(run: Run) -> None:
    if run.learner.device.type == "cuda":
        torch.cuda.synchronize()


def profile(run: Run) -> None:
    """Print where the time of a few steps goes."""
    stream = run._stream()
    with torch.profiler.profile() as profiler:
        for _ in range(10):
            run._step(next(stream), share=0.5)
        _wait(run)
    order = "self_device_time_total" if run.learner.device.type == "cuda" else "self_cpu_time_total"
    print(profiler.key_averages().table(sort_by=order, row_limit=30, max_name_column_width=60))


if __name__ == "__main__":
    main()
