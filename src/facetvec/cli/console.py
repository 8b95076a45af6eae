"""What the commands share: results to standard output, all else to standard error, progress drawn there.

In: settings of the user, steps of long work. Out: lines for people, or JSON. Only here does facetvec print.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from facetvec.progress import Step, silent


class OnError(StrEnum):
    """What to do about bad input."""

    stop = "stop"
    skip = "skip"


out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


def set_up_logging(*, verbose: bool) -> None:
    """Send the library's messages to standard error."""
    logging.basicConfig(level=logging.WARNING, handlers=[_Handler()], format="%(message)s", force=True)
    logging.getLogger("facetvec").setLevel(logging.DEBUG if verbose else logging.INFO)


class _Handler(logging.Handler):
    """Hands messages to the console, which knows how to write them above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        note(self.format(record))


def say(text: str) -> None:
    """Print a result, as it is."""
    sys.stdout.write(f"{text}\n")


def note(text: str, *, style: str | None = None) -> None:
    """Print what is no result, on standard error."""
    err.print(text, markup=False, soft_wrap=True, style=style)


def print_json(content: object) -> None:
    """Print an answer for programs."""
    say(json.dumps(content, ensure_ascii=False, indent=2))


@contextmanager
def progress_bar() -> Iterator[Callable[[Step], None]]:
    """Draw the steps of long work on standard error, a bar for each stage; nothing where that is no terminal."""
    if not err.is_terminal:
        yield silent
        return
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=err) as bar:
        tasks: dict[str, TaskID] = {}

        def draw(step: Step) -> None:
            amount = _amount(step)
            if step.stage not in tasks:
                tasks[step.stage] = bar.add_task(step.stage, total=step.total, amount=amount, note="")
            bar.update(tasks[step.stage], completed=step.done, total=step.total, amount=amount, note=step.note)

        yield draw


def _amount(step: Step) -> str:
    scale, unit = (1e6, "MB") if step.unit == "B" else (1, step.unit)
    of_total = "" if step.total is None else f"/{step.total / scale:,.0f}"
    return f"{step.done / scale:,.0f}{of_total} {unit}"
