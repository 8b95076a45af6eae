"""How long work tells its caller where it stands: it calls a function with a `Step`, and never prints.

In: what is done so far. Out: a `Step` to the caller's function; the command line draws it, a program may log it.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A moment of some long work.

    `done` and `total` count `unit`s ("B" for bytes); `total` is None where it cannot be known; `note` is a short text
    such as a loss.
    """

    stage: str
    done: float
    total: float | None
    unit: str
    note: str = ""


Progress = Callable[[Step], None]


def silent(_step: Step) -> None:
    """Take a step and say nothing."""
