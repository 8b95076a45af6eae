"""Time of a training step of the network, without targets: forward, the mean square of the facets, backward, AdamW.

    python -m benchmarks.model_step [--profile paper] [--batch 200] [--length 25] [--facets 10] [--threads 2] [--trace]

Prints a line for each kind of arithmetic: `float32`; `float32, oneDNN`, which PyTorch takes for matrix products at
set_float32_matmul_precision("medium"); and `bfloat16` by autocast. The limit is what the same floating-point
operations would take at the rate of the products of a feed-forward net, measured in the same run. `--trace` shows
where the time goes.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.measure import machine
from facetvec.model.network import FacetNetwork
from facetvec.model.shape import model_config

VOCABULARY_SIZE = 50_000
TIMES = 7
ARITHMETIC = {
    "float32": ("highest", torch.float32),
    "float32, oneDNN": ("medium", torch.float32),
    "bfloat16": ("medium", torch.bfloat16),
}


def main() -> None:
    options = read_options()
    torch.set_num_threads(options.threads)
    print(f"{machine()}, PyTorch {torch.__version__}, {options.threads} threads; best of {TIMES}")
    token_ids_BL = torch.randint(3, VOCABULARY_SIZE, (options.batch, options.length))
    lengths_B = torch.randint(options.length // 2, options.length + 1, (options.batch,))
    for name, (precision, dtype) in ARITHMETIC.items():
        torch.set_float32_matmul_precision(precision)
        products, product_flops = products_of(options, dtype=dtype)
        for table in ("fixed", "trained"):
            network = new_network(options, table=table)
            for what, lengths in (("one length", None), ("masked", lengths_B)):
                step = step_of(network, token_ids_BL, lengths, dtype=dtype)
                with FlopCounterMode(display=False) as counter:
                    step()
                seconds, product_seconds = best_seconds(step, products)
                num_flops, rate = counter.get_total_flops(), product_flops / product_seconds
                limit = num_flops / rate
                figures = f"{1000 * seconds:.0f} ms | {options.batch / seconds:.0f} texts/s"
                share = f"{limit / seconds:.0%} of the limit, {num_flops / 1e9:.0f} Gflop at {rate / 1e9:.0f} Gflop/s"
                print(f"{name} | {table} table | {what} | {figures} | {share}", flush=True)
            adam = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
            print(f"{name} | {table} table | AdamW | {1000 * best_seconds(adam.step)[0]:.0f} ms", flush=True)
            if options.trace:
                trace(step)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="paper")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--length", type=int, default=25)
    parser.add_argument("--facets", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention-dropout", type=float, default=0.0)
    parser.add_argument("--trace", action="store_true")
    return parser.parse_args()


def new_network(options: argparse.Namespace, *, table: str) -> FacetNetwork:
    changes: dict[str, Any] = {"num_facets": options.facets, "input_table": table}
    changes["attention_dropout"] = options.attention_dropout
    config = model_config(options.profile, unit="sentence", vocabulary_size=VOCABULARY_SIZE, table=changes)
    return FacetNetwork(config, vectors_VD=torch.randn(VOCABULARY_SIZE, config.dim))


def step_of(
    network: FacetNetwork, token_ids_BL: torch.Tensor, lengths_B: torch.Tensor | None, *, dtype: torch.dtype
) -> Callable[[], None]:
    def step() -> None:
        network.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            facets_BKD = network(token_ids_BL, lengths_B)
        facets_BKD.float().square().mean().backward()

    return step


def products_of(options: argparse.Namespace, *, dtype: torch.dtype) -> tuple[Callable[[], None], int]:
    """Return a call of the six products of a feed-forward net and its gradients, and their number of operations."""
    dim = model_config(options.profile, unit="sentence", vocabulary_size=VOCABULARY_SIZE).dim
    narrow, wide = (torch.randn(options.batch * options.length, size, dtype=dtype) for size in (dim, 4 * dim))
    widen, shrink = torch.randn(4 * dim, dim, dtype=dtype), torch.randn(dim, 4 * dim, dtype=dtype)

    def products() -> None:
        functional.linear(narrow, widen)
        functional.linear(wide, shrink)
        _ = wide @ widen, narrow @ shrink
        _ = wide.T @ narrow, narrow.T @ wide

    return products, 12 * narrow.numel() * 4 * dim


def best_seconds(*calls: Callable[[], object]) -> list[float]:
    """Return the least that each of some calls, taken in turn, needed: other work on the machine can only add to it."""
    best = [float("inf")] * len(calls)
    for turn in range(TIMES + 1):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            if turn:  # the first one warms up
                best[index] = min(best[index], time.perf_counter() - start)
    return best


def trace(step: Callable[[], None]) -> None:
    with torch.profiler.profile() as profiler:
        step()
    print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=20, max_name_column_width=40))


if __name__ == "__main__":
    main()
