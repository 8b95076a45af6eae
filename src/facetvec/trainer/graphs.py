"""Steps recorded once and replayed: on a GPU, launching hundreds of small kernels costs more than running them.

In: a step as a function of rows on the device. Out: the same step, recorded as a CUDA graph for every shape of rows
that comes twice. The first step of a shape runs as it is, which also makes ready what must not happen while recording.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from facetvec.trainer.feed import Rows

Shape = tuple[Any, ...]


class StepGraphs:
    """Runs a step by the recording for the shape of its rows."""

    def __init__(self, step: Callable[[Rows], Tensor]) -> None:
        self._step = step
        self._seen: set[Shape] = set()
        self._recorded: dict[Shape, tuple[torch.cuda.CUDAGraph, Rows, Tensor]] = {}
        self._pool: Any = None

    def step(self, rows: Rows) -> Tensor:
        """Take a step; what it returns is a copy that later steps leave alone."""
        shape = tuple(None if part is None else tuple(part.shape) for part in _parts(rows))
        if shape not in self._seen:
            self._seen.add(shape)
            return self._step(rows)
        if shape not in self._recorded:
            self._recorded[shape] = self._record(rows)
        graph, inputs, result = self._recorded[shape]
        for held, given in zip(_parts(inputs), _parts(rows), strict=True):
            if held is not None and given is not None:
                held.copy_(given, non_blocking=True)
        graph.replay()
        return result.clone()

    def _record(self, rows: Rows) -> tuple[torch.cuda.CUDAGraph, Rows, Tensor]:
        """Record a step without taking it."""
        copies = {field.name: part.clone() for field in fields(rows) if (part := getattr(rows, field.name)) is not None}
        inputs = replace(rows, **copies)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self._pool):
            result = self._step(inputs)
        self._pool = graph.pool()
        return graph, inputs, result


def _parts(rows: Rows) -> list[Tensor | None]:
    return [getattr(rows, field.name) for field in fields(rows)]
