"""`facetvec train`: a store, or text right away, into a model folder; stopped and started at will."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from facetvec.cli.console import note, progress_bar, say
from facetvec.cli.corpus import Profile, Unit
from facetvec.config import corpus_config, training_config
from facetvec.errors import ConfigError
from facetvec.progress import Progress, Step

if TYPE_CHECKING:
    from facetvec.examples.store import Store
    from facetvec.trainer.events import Event
    from facetvec.trainer.run import Run
    from facetvec.vectors import WordSpace

LOG = "log.jsonl"
_UNITS = {"s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0}


def train(
    corpus: Annotated[list[str], typer.Argument(help="A store, or text: files, folders, globs, or -.")],
    *,
    to: Annotated[Path, typer.Option("--out", help="The folder of the model.")],
    vectors: Annotated[Path | None, typer.Option(help="Word vectors; trained on the text if not given.")] = None,
    time: Annotated[str | None, typer.Option(help="Train for so long: 90s, 40m, 8h.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Go through the text so often.")] = None,
    steps: Annotated[int | None, typer.Option(help="Take so many steps.")] = None,
    facets: Annotated[int | None, typer.Option("--facets", "-k", help="Facets of a text; 10 by default.")] = None,
    dim: Annotated[int, typer.Option(help="Dimensions of word vectors trained here.")] = 256,
    unit: Annotated[Unit | None, typer.Option(help="Learn from sentences or from noun phrases.")] = None,
    document_marker: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Documents begin at lines that match.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="fast, or the paper's recipe.")] = Profile.fast,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with the tables \\[corpus], \\[model] and \\[training].")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Texts in a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The highest rate.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1; by default a GPU if there is one.")] = "auto",
    workers: Annotated[int | None, typer.Option(min=1, help="Cores; by default all.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Decides all that is random.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew what a run in this folder has begun.")] = False,
) -> None:
    """Train a model. Stopped with Ctrl-C, the same command goes on."""
    import shutil

    from facetvec.config import read_toml
    from facetvec.model.shape import model_config
    from facetvec.trainer.finish import write_model
    from facetvec.trainer.run import Run
    from facetvec.trainer.state import FOLDER

    flags = {
        "minutes": None if time is None else minutes_of(time), "epochs": epochs, "steps": steps,
        "batch_size": batch_size, "learning_rate": learning_rate, "seed": seed,
    }  # fmt: skip
    settings = training_config(profile, file=config, flags=_given(flags))
    corpus_flags: dict[str, Any] = {"unit": None if unit is None else str(unit)}
    if document_marker is not None:
        corpus_flags |= {"documents": "marker", "document_marker": document_marker}
    prepared = corpus_config(profile, file=config, flags=_given(corpus_flags))
    work = to / FOLDER
    if force:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    with progress_bar() as progress:
        store = _store(corpus, work / "store", config=prepared, workers=workers, progress=progress)
        space = _space(vectors, work, store, dim=dim, seed=settings.seed, workers=workers, progress=progress)
        table = {"dim": space.dimension, "heads": heads_for(space.dimension)} | _given({"num_facets": facets})
        if store.config.unit == "sentence":
            table |= {"max_tokens": store.config.max_tokens + 1}
        table |= read_toml(config).get("model", {}) if config else {}
        shape = model_config(profile.value, unit=store.config.unit, vocabulary_size=len(store.words), table=table)
        run = Run(store, space, folder=work, model=shape, config=settings, device=device)
        with _stopping_gently(run), (work / LOG).open("a", encoding="utf-8") as log:
            for event in run.events():
                log.write(json.dumps(event.to_dict()) + "\n")
                log.flush()
                _draw(event, run, progress)
    if run.is_stopped:
        note(f"stopped after {run.step:,} steps; run the same command again to go on")
        raise typer.Exit(130)
    write_model(run, space, to)
    say(f"{to}: {run.model.num_facets} facets of {run.model.dim} dimensions, {run.step:,} steps")


def minutes_of(time: str) -> float:
    """Return the minutes of a text such as 90s, 40m, 1.5h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", time)
    if not match:
        raise ConfigError(f"expected a time such as 90s, 40m or 8h, found {time!r}")
    return float(match[1]) * _UNITS[match[2]]


def heads_for(dim: int) -> int:
    """Return how many heads divide a dimension into parts of about 32, which attention kernels like."""
    return min((heads for heads in range(1, dim + 1) if dim % heads == 0), key=lambda heads: abs(dim / heads - 32))


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _store(corpus: list[str], folder: Path, *, config: Any, workers: int | None, progress: Progress) -> "Store":
    """Open the store that is named, or that an earlier part of this run has made; else make it."""
    from facetvec.examples.prepare import describe, prepare
    from facetvec.examples.store import MANIFEST, Store, read_manifest
    from facetvec.text.sources import find_sources

    if len(corpus) == 1 and (Path(corpus[0]) / MANIFEST).exists():
        return Store.open(corpus[0])
    if (folder / MANIFEST).exists():
        store = Store.open(folder)
        if store.config != config or read_manifest(folder)["sources"] != describe(find_sources(corpus)):
            raise ConfigError(f"{folder}: was made of other text or with other settings; --force starts anew")
        return store
    return prepare(corpus, out=folder, config=config, workers=workers, progress=progress)


def _space(
    given: Path | None, work: Path, store: "Store", *, dim: int, seed: int, workers: int | None, progress: Progress
) -> "WordSpace":
    """Read the vectors that are given, or that an earlier part of this run has trained; else train them."""
    from facetvec.vectors import read_vectors, write_vectors
    from facetvec.vectors.of_store import train_word_space
    from facetvec.vectors.training import SkipGramSettings
    from facetvec.vocabulary.tokenizer import FIRST_WORD_ID

    path = given or work / "vectors.safetensors"
    if path.exists() or given is not None:
        words = store.words[FIRST_WORD_ID:]
        reading = read_vectors(path, vocabulary=words, progress=progress)
        if reading.missing:
            note(f"{path}: {len(reading.missing):,} of {len(words):,} words have no vector")
        return reading.space
    space = train_word_space(store, settings=SkipGramSettings(dim=dim, seed=seed), workers=workers, progress=progress)
    write_vectors(space, path, progress=progress)
    return space


@contextmanager
def _stopping_gently(run: "Run") -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) end the run after the step at hand, and a second one at once."""

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _draw(event: "Event", run: "Run", progress: Progress) -> None:
    from facetvec.trainer.events import Planned, Stepped, Validated

    if isinstance(event, Planned):
        begins = "goes on" if event.resumed else "begins"
        note(
            f"training {begins} on {event.device} in {event.precision}: {event.num_sentences:,} examples, "
            f"{event.num_words:,} words, {event.num_parameters:,} parameters, about {event.num_steps:,} steps, "
            f"{event.seconds / 60:,.1f} minutes"
        )
    elif isinstance(event, Stepped):
        said = f"loss {event.loss:.4f}, {event.examples_a_second:,.0f} examples/s"
        in_steps = run.budget.num_steps is not None
        done, total = (event.step, run.budget.num_steps) if in_steps else (run.seconds, run.budget.seconds)
        progress(Step(stage="training", done=done, total=total, unit="steps" if in_steps else "s", note=said))
    elif isinstance(event, Validated):
        found = event.figures
        note(
            f"step {event.step:,}: validation {found.loss:.4f}{' (best)' if event.is_best else ''}, "
            f"own {found.own_error:.3f}, others {found.other_error:.3f}, {found.coefficients_a_word:.2f} a word, "
            f"{found.used_facets:.0%} of facets used, norm {found.facet_norm:.1f}, cosine {found.facet_cosine:.2f}"
        )
