"""How fast coefficients are found and how good they are, beside the procedure of the paper's authors.

    python -m benchmarks.coefficients [--facets 10,100] [--batches 200] [--words 30] [--threads 2]
    python -m benchmarks.coefficients --device cuda --batches 1024,2048 --words 60 [--facets-per-warp 16,32,64]

Prints a Markdown table. The texts are made up: each is about a few topics, its words and facets lie around them. Excess
is how far the objective ‖mF − w‖² + λ‖m‖₁ lies above its optimum, which 300 sweeps in float64 stand for. The solvers
take turns; times are medians, from facets and words to coefficients. On a GPU the rows `solve alone` leave out the
products of facets and words, and are timed over many launches in a row.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from facetvec.nnsc import arrays
from facetvec.nnsc.coefficients import coefficients, is_for_triton, solve
from facetvec.nnsc.defaults import PENALTY, STEPS, SWEEPS
from facetvec.nnsc.descent import descend
from facetvec.nnsc.products import multiply

FACET_NORM = 3.0
Solver = Callable[[], Tensor]


@dataclass(frozen=True, slots=True)
class Problem:
    """Facets and words of a batch, and the least that the objective can be."""

    facets_BKD: Tensor
    words_BND: Tensor
    optimum: float

    def excess(self, solution_BNK: Tensor) -> float:
        return objective(self.facets_BKD, self.words_BND, solution_BNK) / self.optimum - 1


def main() -> None:
    options = read_options()
    torch.set_num_threads(options.threads)
    print(f"Measured on: {describe(options)}, PyTorch {torch.__version__}\n")
    print("| facets | texts × words | solver | ms | times the authors' speed | excess |\n|---|---|---|---|---|---|")
    for num_facets in options.facets:
        for num_texts in options.batches:
            for row in measure(num_texts=num_texts, num_facets=num_facets, options=options):
                print(f"| {num_facets} | {num_texts} × {options.words} | {row} |", flush=True)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facets", type=numbers, default=[10, 100])
    parser.add_argument("--batches", type=numbers, default=[200])
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--facets-per-warp", type=numbers, default=[])
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def describe(options: argparse.Namespace) -> str:
    if options.device == "cuda":
        return torch.cuda.get_device_name()
    from benchmarks.measure import machine  # needs psutil, which a machine with a GPU may lack

    return f"{machine()}, {options.threads} threads"


def measure(*, num_texts: int, num_facets: int, options: argparse.Namespace) -> Iterator[str]:
    problem = make_problem(num_texts, num_facets=num_facets, options=options)
    facets_BKD, words_BND = problem.facets_BKD, problem.words_BND
    solvers: dict[str, Solver] = {
        f"authors', {STEPS} steps": lambda: by_authors(facets_BKD, words_BND),
        f"`rmsprop`, {STEPS} steps": lambda: coefficients(facets_BKD, words_BND, method="rmsprop"),
        f"`descent`, {SWEEPS} sweeps": lambda: coefficients(facets_BKD, words_BND),
        f"`descent`, {SWEEPS} sweeps, from bf16": partial(coefficients, facets_BKD.bfloat16(), words_BND.bfloat16()),
    }
    if options.device == "cpu":
        solvers |= {f"numpy, {SWEEPS} sweeps": lambda: by_numpy(facets_BKD, words_BND)}
    taken = {name: np.median(times) for name, times in take_turns(solvers, times=options.times).items()}
    authors = next(iter(taken.values()))
    for name, solver in solvers.items():
        yield f"{name} | {taken[name] * 1e3:.2f} | {authors / taken[name]:.1f} | {problem.excess(solver()):.4%}"
    if options.device == "cuda":
        yield from measure_launches(problem, facets_per_warp=options.facets_per_warp)


def make_problem(num_texts: int, *, num_facets: int, options: argparse.Namespace) -> Problem:
    generator = torch.Generator().manual_seed(0)
    num_topics = max(num_facets // 5, 6)

    def draw(*shape: int) -> Tensor:
        return functional.normalize(torch.randn(*shape, options.dim, generator=generator), dim=-1)

    # no two words of a language are quite unrelated: all topics share a direction
    topics_TD = functional.normalize(draw(400) + 0.5 * draw(), dim=-1)
    of_text_BT = torch.randint(400, (num_texts, num_topics), generator=generator)

    def draw_around_topics(num: int) -> Tensor:
        chosen = of_text_BT.gather(1, torch.randint(num_topics, (num_texts, num), generator=generator))
        return functional.normalize(topics_TD[chosen] + draw(num_texts, num), dim=-1).to(options.device)

    facets_BKD, words_BND = FACET_NORM * draw_around_topics(num_facets), draw_around_topics(options.words)
    best_BNK = coefficients(facets_BKD.double(), words_BND.double(), rounds=300)
    return Problem(facets_BKD, words_BND, objective(facets_BKD, words_BND, best_BNK))


def objective(facets_BKD: Tensor, words_BND: Tensor, solution_BNK: Tensor) -> float:
    errors_BN = (solution_BNK.double() @ facets_BKD.double() - words_BND).square().sum(-1)
    return float((errors_BN + PENALTY * solution_BNK.sum(-1)).sum())


def by_authors(facets_BKD: Tensor, words_BND: Tensor) -> Tensor:
    """Follow the gradient through facets and words with the optimizer of PyTorch, as the paper's authors did."""
    shape = (*words_BND.shape[:2], facets_BKD.shape[1])
    solution_BNK = torch.nn.Parameter(torch.randn(shape, device=facets_BKD.device))
    optimizer = torch.optim.RMSprop([solution_BNK], lr=0.05, alpha=0.99)
    for _ in range(STEPS):
        error = functional.mse_loss(solution_BNK @ facets_BKD, words_BND, reduction="sum")
        (solution_BNK.grad,) = torch.autograd.grad(error / 2 + PENALTY / 2 * solution_BNK.abs().sum(), solution_BNK)
        optimizer.step()
        solution_BNK.data.clamp_(0, 1)
    return solution_BNK.detach()


def by_numpy(facets_BKD: Tensor, words_BND: Tensor) -> Tensor:
    return torch.from_numpy(arrays.coefficients(facets_BKD.numpy(), words_BND.numpy()))


def take_turns(solvers: dict[str, Solver], *, times: int) -> dict[str, list[float]]:
    """Run every solver once to warm up, then all in turn, forwards and backwards; return the seconds each took."""
    taken: dict[str, list[float]] = {name: [] for name in solvers}
    for turn in range(times + 1):
        for name in list(solvers)[:: 1 if turn % 2 else -1]:
            start = time.perf_counter()
            solvers[name]()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return taken


def measure_launches(problem: Problem, *, facets_per_warp: list[int]) -> Iterator[str]:
    products = multiply(problem.facets_BKD, problem.words_BND)
    plain = partial(descend, products.gram_BKK, products.cross_BKN - PENALTY / 2, sweeps=SWEEPS)
    yield f"solve alone, plain | {seconds_a_launch(plain) * 1e3:.3f} | |"
    if not is_for_triton(products.gram_BKK):
        return
    from facetvec.nnsc import triton_descent

    kernel = partial(solve, products, penalty=PENALTY, method="descent")
    for number in [triton_descent.FACETS_PER_WARP, *facets_per_warp]:
        triton_descent.FACETS_PER_WARP = number
        milliseconds = seconds_a_launch(kernel) * 1e3
        difference = (kernel() - plain()).abs().max().item()
        yield f"solve alone, kernel, {number} facets a warp | {milliseconds:.3f} | | plain ± {difference:.1e}"


def seconds_a_launch(solver: Solver, *, times: int = 50) -> float:
    solver()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        solver()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times


if __name__ == "__main__":
    main()
