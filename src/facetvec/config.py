"""Settings: frozen, checked when they are made, read from TOML, written as JSON.

In: a profile, a TOML table, flags. Out: one object that a room can trust. Later ones win:
defaults of the profile < TOML file < flags. An unknown key is an error.
"""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast, get_args, get_origin, get_type_hints

from facetvec.errors import ConfigError, InputError

Format = Literal["auto", "text", "jsonl", "csv", "tsv", "parquet"]
Boundary = Literal["blank", "line", "file", "marker"]


BUDGETS = frozenset({"epochs", "steps", "minutes"})


class Checked:
    """What all settings share: types and choices are checked on construction, conversion from and to plain tables."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            _check(name, getattr(self, name), kind)
        self.check()

    def check(self) -> None:
        """Check what goes beyond types; a class of settings may say more."""

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Make settings from a table of names and values."""
        known = {field.name for field in dataclasses.fields(cast("Any", cls))}
        if unknown := sorted(set(table) - known):
            raise ConfigError(f"unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        return cls(**table)

    def to_table(self) -> dict[str, Any]:
        """Return the settings as a plain table."""
        return dataclasses.asdict(cast("Any", self))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusConfig(Checked):
    """How raw text becomes a store of examples.

    `documents` says where documents end besides the end of a file: at a blank line (the default: paragraphs or articles
    of plain text; taking two documents for one would teach wrong neighbours, cutting one in two only loses a few), at
    each line, only at the file's end, or before a line that matches `document_marker`, which itself is no text.
    """

    unit: Literal["sentence", "phrase"] = "sentence"
    format: Format = "auto"
    field: str = "text"
    documents: Boundary = "blank"
    document_marker: str | None = None
    wrapped: bool = False
    on_error: Literal["stop", "skip"] = "stop"
    segmenter: str = "fast"
    tokens: Literal["words", "blanks", "spacy"] = "words"
    lower: bool = True
    min_tokens: int = 5
    max_tokens: int = 50
    max_vocabulary: int | None = 50_000
    min_count: int = 5
    tagger: str = "textblob"
    min_phrase_count: int = 5
    validation_share: float = 0.005
    max_validation: int = 20_000

    def check(self) -> None:
        """Check ranges and what must go together."""
        _at_least(self, "min_tokens", 1)
        _at_least(self, "max_tokens", self.min_tokens)
        _at_least(self, "min_count", 1)
        _at_least(self, "min_phrase_count", 1)
        _at_least(self, "max_validation", 0)
        if self.max_vocabulary is not None:
            _at_least(self, "max_vocabulary", 1)
        if not 0 <= self.validation_share < 1:
            raise ConfigError(f"validation_share must be at least 0 and below 1, found {self.validation_share}")
        if (self.documents == "marker") != (self.document_marker is not None):
            raise ConfigError("document_marker, a regular expression, goes with documents = 'marker', and only with it")
        if self.document_marker is not None:
            try:
                re.compile(self.document_marker)
            except re.error as error:
                raise ConfigError(f"document_marker is not a regular expression: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig(Checked):
    """How a model learns.

    Exactly one of `epochs`, `steps` and `minutes` is the budget; what is a share below is a share of it. `penalty` is
    λ; it rises from 0 over the share `penalty_warmup`, which facets of norm 1 need: far from all words they would get
    no gradient. `own_words` is the weight of the input's own words among its targets.
    """

    epochs: float | None = 3
    steps: int | None = None
    minutes: float | None = None
    batch_size: int = 256
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: float = 1e-3
    schedule: Literal["linear", "plateau"] = "linear"
    warmup: float = 0.03
    weight_decay: float = 0.01
    clip: float = 1.0
    solver: Literal["descent", "rmsprop", "kmeans"] = "descent"
    rounds: int = 5
    penalty: float = 0.4
    penalty_warmup: float = 0.02
    unit_facets: bool = True
    negatives: Literal["rotation", "batch"] = "batch"
    num_negatives: int = 1
    own_words: float = 0.0
    max_targets: int = 30
    precision: Literal["auto", "float32", "bf16"] = "auto"
    validations: int = 20
    patience: int | None = None
    checkpoint_minutes: float = 5.0
    seed: int = 0

    def check(self) -> None:
        """Check ranges and what must go together."""
        given = [name for name in sorted(BUDGETS) if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError(f"expected one of epochs, steps and minutes, found {' and '.join(given) or 'none'}")
        _above_zero(self, given[0])
        for name in ("batch_size", "rounds", "num_negatives", "max_targets", "validations"):
            _at_least(self, name, 1)
        for name in ("learning_rate", "clip", "checkpoint_minutes"):
            _above_zero(self, name)
        for name in ("weight_decay", "penalty", "own_words", "seed"):
            _at_least(self, name, 0)
        for name in ("warmup", "penalty_warmup"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 0 and below 1, found {getattr(self, name)}")
        if self.patience is not None:
            _at_least(self, "patience", 1)
        if self.batch_size < 2:
            raise ConfigError("batch_size must be at least 2: the negatives of a text are other texts of its batch")


PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "fast": {"corpus": {}, "training": {}},
    "paper": {
        "corpus": {"segmenter": "spacy", "tokens": "spacy", "min_count": 100, "max_vocabulary": None},
        "training": {
            "epochs": 2, "batch_size": 200, "optimizer": "sgd", "learning_rate": 1.0, "schedule": "plateau",
            "warmup": 0, "weight_decay": 1e-6, "clip": 10, "solver": "rmsprop", "rounds": 60, "penalty_warmup": 0,
            "unit_facets": False, "negatives": "rotation",
        },
    },
}  # fmt: skip

Settings = TypeVar("Settings", bound=Checked)


def corpus_config(profile: str, *, file: Path | None = None, flags: Mapping[str, Any] | None = None) -> CorpusConfig:
    """Return the settings of a profile, changed by the `[corpus]` table of a TOML file, changed by flags."""
    return _settings(CorpusConfig, "corpus", profile, file=file, flags=flags)


def training_config(
    profile: str, *, file: Path | None = None, flags: Mapping[str, Any] | None = None
) -> TrainingConfig:
    """Return the settings of a profile, changed by the `[training]` table of a TOML file, changed by flags.

    A budget takes the place of the budgets that stand below it.
    """
    return _settings(TrainingConfig, "training", profile, file=file, flags=flags)


def _settings(
    kind: type[Settings], name: str, profile: str, *, file: Path | None, flags: Mapping[str, Any] | None
) -> Settings:
    """Return settings of a kind: those of the profile < the table `name` of a TOML file < flags."""
    if profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}; there are {', '.join(PROFILES)}")
    settings: dict[str, Any] = {}
    for table in (PROFILES[profile][name], read_toml(file).get(name, {}) if file else {}, flags or {}):
        if kind is TrainingConfig and not BUDGETS.isdisjoint(table):
            settings |= dict.fromkeys(BUDGETS)
        settings |= table
    return kind.from_table(settings)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", path=path) from error


def _at_least(config: Checked, name: str, bound: int) -> None:
    if getattr(config, name) < bound:
        raise ConfigError(f"{name} must be at least {bound}, found {getattr(config, name)}")


def _above_zero(config: Checked, name: str) -> None:
    if not getattr(config, name) > 0:
        raise ConfigError(f"{name} must be above 0, found {getattr(config, name)}")


def _check(name: str, value: object, kind: Any) -> None:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{name} must be one of {', '.join(get_args(kind))}, found {value!r}")
        return
    kinds = get_args(kind) or (kind,)
    is_number_for_bool = isinstance(value, bool) and bool not in kinds
    is_float_written_as_int = isinstance(value, int) and float in kinds
    if is_number_for_bool or not (isinstance(value, kinds) or is_float_written_as_int):
        expected = " or ".join("nothing" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ConfigError(f"{name} must be {expected}, found {value!r}")
