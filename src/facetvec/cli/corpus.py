"""`facetvec prepare` and `facetvec info`: text into a store, and a look at what came of it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from facetvec.cli.console import OnError, note, print_json, progress_bar, say
from facetvec.config import corpus_config


class Unit(StrEnum):
    """What an example is."""

    sentence = "sentence"
    phrase = "phrase"


class Profile(StrEnum):
    """A set of defaults."""

    fast = "fast"
    paper = "paper"


class Kind(StrEnum):
    """The format of the input."""

    auto = "auto"
    text = "text"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


class Boundary(StrEnum):
    """Where documents end."""

    blank = "blank"
    line = "line"
    file = "file"


def prepare(
    corpus: Annotated[
        list[str], typer.Argument(help="Files, folders, globs, or - for standard input; also .gz .bz2 .xz .zst.")
    ],
    *,
    to: Annotated[Path, typer.Option("--out", help="The folder of the store.")],
    unit: Annotated[Unit | None, typer.Option(help="Learn from sentences or from noun phrases.")] = None,
    profile: Annotated[Profile, typer.Option(help="fast, or the paper's tokeniser and thresholds.")] = Profile.fast,
    config: Annotated[Path | None, typer.Option(help="A TOML file whose \\[corpus] table changes the profile.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    format: Annotated[Kind | None, typer.Option(help="By default told by the file's ending.")] = None,  # noqa: A002
    field: Annotated[
        str | None, typer.Option("--field", "--column", help="The field or column that holds the text.")
    ] = None,
    documents: Annotated[
        Boundary | None, typer.Option(help="Documents end at a blank line, each line, or the file.")
    ] = None,
    document_marker: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Documents begin at lines that match.")
    ] = None,
    wrapped: Annotated[
        bool | None, typer.Option("--wrapped", help="Lines are wrapped: join them into paragraphs.")
    ] = None,
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="Each line is a sentence, its words stand between blanks.")
    ] = False,
    cased: Annotated[bool, typer.Option("--cased", help="Keep the case of letters.")] = False,
    segmenter: Annotated[str | None, typer.Option(help="fast, spacy, or line.")] = None,
    tagger: Annotated[str | None, typer.Option(help="For phrases: textblob, or spacy:PIPELINE.")] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="A tokenizer.json whose vocabulary to keep.")] = None,
    max_vocabulary: Annotated[int | None, typer.Option(help="Keep at most so many words.")] = None,
    min_count: Annotated[int | None, typer.Option(help="Keep words that occur so often.")] = None,
    min_phrase_count: Annotated[int | None, typer.Option(help="Keep phrases that occur so often.")] = None,
    on_error: Annotated[OnError | None, typer.Option(help="Stop at bad input, or skip and count it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a complete store.")] = False,
) -> None:
    """Turn text into a store of examples that training reads."""
    from facetvec.examples.prepare import prepare as run

    flags: dict[str, Any] = {
        "unit": unit, "format": format, "field": field, "documents": documents, "wrapped": wrapped,
        "segmenter": segmenter, "tagger": tagger, "max_vocabulary": max_vocabulary, "min_count": min_count,
        "min_phrase_count": min_phrase_count, "on_error": on_error,
    }  # fmt: skip
    if document_marker is not None:
        flags |= {"documents": "marker", "document_marker": document_marker}
    if pretokenized:
        flags |= {"tokens": "blanks", "segmenter": "line"}
    if cased:
        flags |= {"lower": False}
    given = {name: str(flag) if isinstance(flag, StrEnum) else flag for name, flag in flags.items() if flag is not None}
    settings = corpus_config(profile, file=config, flags=given)
    try:
        with progress_bar() as progress:
            store = run(
                corpus, out=to, config=settings, workers=workers, tokenizer=tokenizer, force=force, progress=progress
            )
    except KeyboardInterrupt:
        note(f"stopped; run the same command again to go on with what {to} holds so far")
        raise typer.Exit(130) from None
    totals = store.totals
    examples = f"{store.num_phrases:,} phrases in " if store.num_phrases else ""
    say(
        f"{to}: {examples}{totals['sentences']:,} sentences of {totals['documents']:,} documents, "
        f"{totals['tokens']:,} words, {len(store.words):,} of them different"
    )
    if totals["skipped"]:
        say(f"skipped {totals['skipped']:,} pieces of bad input, named above")


def info(
    path: Annotated[Path, typer.Argument(help="A store.")],
    *,
    examples: Annotated[int, typer.Option(min=0, help="How many examples to show.")] = 3,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte against its SHA-256.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show what a store holds: counts, lengths, a few examples with their targets."""
    from facetvec.examples.facts import facts_of
    from facetvec.examples.store import Store

    store = Store.open(path)
    if verify:
        store.verify()
    facts = facts_of(store, num_examples=examples)
    if json:
        print_json(facts.to_dict())
    else:
        say(str(facts))


def demo() -> None:
    """Show on a small text of our own what a corpus becomes: sentences, and the words around them to learn from."""
    import tempfile
    from importlib.resources import as_file, files

    from facetvec.config import CorpusConfig
    from facetvec.examples.facts import facts_of
    from facetvec.examples.prepare import prepare as run

    with tempfile.TemporaryDirectory() as folder, as_file(files("facetvec.cli").joinpath("demo.txt")) as text:
        store = run([text], out=Path(folder) / "demo", config=CorpusConfig(min_count=1))
        say("A sentence is learned from the words of its neighbours (→).")
        say(str(facts_of(store, num_examples=6)))
