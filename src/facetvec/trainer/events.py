"""What a run says of itself while it runs; the command line draws it, or writes it as lines of JSON.

In: numbers. Out: frozen events that turn into plain tables.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened after `step` steps."""

    step: int

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a plain table, with its kind."""
        return {"event": type(self).__name__.lower()} | dataclasses.asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Event):
    """What is about to happen; `seconds` and `num_steps` are estimates where the budget leaves them open."""

    num_sentences: int
    num_words: int
    num_parameters: int
    device: str
    precision: str
    batches_an_epoch: int
    num_steps: int
    seconds: float
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped(Event):
    """Means over the steps since the last such event."""

    epoch: int
    share: float
    loss: float
    own_error: float
    other_error: float
    learning_rate: float
    examples_a_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How a network does on the held-out documents.

    `coefficients_a_word` is the mean sum of coefficients of a target word, `used_facets` the share of facets with any
    coefficient in their text; `facet_norm` and `facet_cosine` (among the facets of a text) are the first to go wrong.
    """

    loss: float
    own_error: float
    other_error: float
    coefficients_a_word: float
    used_facets: float
    facet_norm: float
    facet_cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated(Event):
    """The network was tried on the held-out documents."""

    figures: Validation
    is_best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Event):
    """The run can go on from here."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Event):
    """The run has ended: its budget is spent, or validation has stopped improving."""

    reason: str
    seconds: float
