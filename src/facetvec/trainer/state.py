"""The state of a run, in one file that appears whole or not at all: what it takes to go on as if nothing had happened.

In: the weights, the optimiser's moments, and a table of all else. Out: a safetensors file whose metadata hold the
table. No state of a random generator is kept: every step seeds its own from the run's seed and its number.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from facetvec.errors import StoreError
from facetvec.files import atomic_write

FORMAT, VERSION = "facetvec-run", 1
FOLDER = ".run"
KEPT = 2  # states kept, so that a damaged last one costs minutes and not the run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """All of a run after `table["step"]` steps; `tensors` are named `model.…` and `optimizer.…`."""

    tensors: dict[str, Tensor]
    table: dict[str, Any]


def save_state(state: RunState, folder: Path) -> Path:
    """Write a state into the folder of the run and drop those that are no longer needed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"state-{state.table['step']:09d}.safetensors"
    metadata = {"format": FORMAT, "version": str(VERSION), "table": json.dumps(state.table)}
    tensors = {name: tensor.detach().to("cpu").contiguous() for name, tensor in state.tensors.items()}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata))
    for old in _states(folder)[:-KEPT]:
        old.unlink()
    return path


def load_state(folder: Path) -> RunState | None:
    """Read the last state that is whole; None where there is none."""
    for path in reversed(_states(folder)):
        try:
            return _read(path)
        except SafetensorError:
            continue
    return None


def named_moments(optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Return the optimiser's tensors under the names of the weights they belong to."""
    return {
        f"optimizer.{names[parameter]}.{kind}": value
        for parameter, moments in optimizer.state.items()
        for kind, value in moments.items()
        if isinstance(value, Tensor)
    }


def restore_moments(optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str], tensors: dict[str, Tensor]) -> None:
    """Put the optimiser's tensors back."""
    by_name = {name: parameter for parameter, name in names.items()}
    for full_name, value in tensors.items():
        kind, _, rest = full_name.partition(".")
        if kind != "optimizer":
            continue
        name, _, moment = rest.rpartition(".")
        parameter = by_name[name]
        device = "cpu" if moment == "step" and not _steps_on_device(optimizer) else parameter.device
        optimizer.state[parameter][moment] = value.to(device)


def _steps_on_device(optimizer: torch.optim.Optimizer) -> bool:
    return any(group.get("capturable") or group.get("fused") for group in optimizer.param_groups)


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob("state-*.safetensors"))


def _read(path: Path) -> RunState:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        if (metadata.get("format"), metadata.get("version")) != (FORMAT, str(VERSION)):
            found = f"{metadata.get('format')!r}, version {metadata.get('version')!r}"
            raise StoreError(f"{path}: expected {FORMAT!r}, version '{VERSION}', found {found}; start the run anew")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 — no mapping
    return RunState(tensors=tensors, table=json.loads(metadata["table"]))
