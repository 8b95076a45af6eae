"""`facetvec vectors`: word spaces converted, looked at, asked for neighbours, checked.

In: a vector file of any format that facetvec reads. Out: a file, or lines for people, or JSON.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from facetvec.cli.console import OnError, note, out, print_json, progress_bar, say
from facetvec.errors import InputError

if TYPE_CHECKING:
    from facetvec.vectors import Reading

app = typer.Typer(help="Word vectors: convert, look at, check.", no_args_is_help=True)

_NUM_SHOWN = 10


class Number(StrEnum):
    """How numbers are stored."""

    float32 = "float32"
    float16 = "float16"


class Engine(StrEnum):
    """What trains."""

    auto = "auto"
    gensim = "gensim"
    torch = "torch"


VectorFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="GloVe, word2vec text or binary, .vec, .safetensors; also .gz .bz2 .xz .zst."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Read only so many words, the first of the file.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Skip = Annotated[OnError, typer.Option(help="Stop at a malformed line, or skip and count it.")]


@app.command()
def convert(
    source: VectorFile,
    target: Annotated[Path, typer.Argument(metavar="OUT", help=".safetensors, or word2vec text: .txt .vec, also .gz.")],
    *,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Keep the words of a store, a tokenizer.json, or a file with a word a line.")
    ] = None,
    limit: Limit = None,
    dtype: Annotated[Number, typer.Option(help="Numbers in .safetensors.")] = Number.float32,
    unit: Annotated[bool, typer.Option("--unit/--no-unit", help="Scale each vector to length 1, at the end.")] = False,
    remove_mean: Annotated[bool, typer.Option("--remove-mean", help="Take the mean vector out.")] = False,
    remove_components: Annotated[
        int, typer.Option(min=0, help="Take so many directions of greatest variance out.")
    ] = 0,
    on_error: Skip = OnError.stop,
) -> None:
    """Turn word vectors into another format, for a vocabulary, in unit length, without what all words share."""
    from facetvec.vectors import remove_common, write_vectors

    words = None if vocabulary is None else _read_vocabulary(vocabulary)
    reading = _read(source, vocabulary=words, limit=limit, on_error=on_error)
    space = reading.space
    if remove_mean or remove_components:
        space = remove_common(space, mean=remove_mean, components=remove_components)
    if unit:
        space = space.unit()
    with progress_bar() as progress:
        write_vectors(space, target, dtype=dtype.value, progress=progress)
    say(f"{target}: {len(space):,} words, {space.dimension} dimensions")


@app.command()
def train(
    store: Annotated[Path, typer.Argument(help="A store that `facetvec prepare` made.")],
    *,
    target: Annotated[Path, typer.Option("--out", help="The file to write: .safetensors, .txt, .vec, also .gz.")],
    dim: Annotated[int, typer.Option(min=1, help="Numbers in a vector; a multiple of 64 suits a GPU.")] = 256,
    epochs: Annotated[int, typer.Option(min=1, help="How often to go through the text.")] = 5,
    window: Annotated[int, typer.Option(min=1, help="How far away a neighbour may be.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Decides all that is random.")] = 0,
    engine: Annotated[Engine, typer.Option(help="PyTorch where there is a GPU, else gensim.")] = Engine.auto,
    device: Annotated[str, typer.Option(help="A device of PyTorch: cpu, cuda, cuda:1.")] = "auto",
    workers: Annotated[int | None, typer.Option(min=1, help="Threads; by default one a core.")] = None,
) -> None:
    """Train word vectors on the text of a store, by skip-gram; they come out in unit length."""
    from facetvec.examples.store import Store
    from facetvec.vectors import write_vectors
    from facetvec.vectors.of_store import train_word_space
    from facetvec.vectors.training import SkipGramSettings

    settings = SkipGramSettings(dim=dim, epochs=epochs, window=window, seed=seed)
    opened = Store.open(store)
    with progress_bar() as progress:
        space = train_word_space(
            opened, settings=settings, engine=engine.value, device=device, workers=workers, progress=progress
        )
        write_vectors(space, target, progress=progress)
    say(f"{target}: {len(space):,} words, {space.dimension} dimensions")


@app.command()
def info(source: VectorFile, *, limit: Limit = None, on_error: Skip = OnError.stop, json: Json = False) -> None:
    """Show what a vector file holds."""
    import numpy as np

    reading = _read(source, limit=limit, on_error=on_error)
    space = reading.space
    lengths_V = np.linalg.norm(space.vectors_VD, axis=1)
    facts: dict[str, object] = {
        "format": reading.file_format,
        "words": len(space),
        "dimensions": space.dimension,
        "has_counts": space.counts is not None,
        "duplicates": reading.duplicates,
        "skipped": reading.skipped,
        "zero_vectors": int((lengths_V == 0).sum()),
        "mean_length": round(float(lengths_V.mean()), 4) if len(space) else None,
        "first_words": list(space.words[:_NUM_SHOWN]),
    }
    if json:
        print_json({"file": str(source)} | facts)
        return
    for name, fact in facts.items():
        shown = " ".join(fact) if isinstance(fact, list) else fact
        say(f"{name.replace('_', ' '):13} {shown}")


@app.command()
def nearest(
    source: VectorFile,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to find neighbours of.")],
    *,
    n: Annotated[int, typer.Option("-n", min=1, help="How many neighbours.")] = 10,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Show the words of highest cosine with each word."""
    space = _read(source, limit=limit).space
    rows = space.rows(words)
    unknown = [word for word, row in zip(words, rows, strict=True) if row < 0]
    if unknown:
        raise InputError(f"no vector for {' '.join(map(repr, unknown))}", path=source)
    found = space.nearest(space.vectors_VD[rows], n=n + 1)
    neighbours = {
        word: [(other, round(cosine, 4)) for other, cosine in others if other != word][:n]
        for word, others in zip(words, found, strict=True)
    }
    if json:
        print_json(
            {
                word: [{"word": other, "cosine": cosine} for other, cosine in others]
                for word, others in neighbours.items()
            }
        )
    else:
        _print_table(
            ("word", "neighbour", "cosine"),
            [(word, other, f"{cosine:.3f}") for word, others in neighbours.items() for other, cosine in others],
        )


@app.command()
def check(
    source: VectorFile,
    *,
    data: Annotated[Path, typer.Option(help="A folder with wordsim/EN-*.txt: WordSim-353, SimLex-999.")],
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Compare cosines with what people said about pairs of words (Spearman)."""
    from dataclasses import asdict

    from facetvec.vectors import check_vectors

    results = check_vectors(_read(source, limit=limit).space, data)
    if json:
        print_json([asdict(result) for result in results])
        return
    _print_table(
        ("data set", "pairs", "covered", "share", "spearman"),
        [
            (
                result.dataset,
                str(result.pairs),
                str(result.covered),
                f"{result.covered / max(1, result.pairs):.0%}",
                "-" if result.spearman is None else f"{result.spearman:.3f}",
            )
            for result in results
        ],
    )


def _read(
    path: Path, *, vocabulary: Sequence[str] | None = None, limit: int | None = None, on_error: OnError = OnError.stop
) -> "Reading":
    from facetvec.vectors import read_vectors

    with progress_bar() as progress:
        reading = read_vectors(path, vocabulary=vocabulary, limit=limit, on_error=on_error.value, progress=progress)
    if reading.duplicates:
        note(f"{path}: {reading.duplicates:,} repeated words, of which the first vector was kept")
    if reading.skipped:
        note(f"{path}: skipped {reading.skipped:,} malformed lines, the first: {reading.first_skipped}")
    if reading.missing:
        shown = " ".join(reading.missing[:_NUM_SHOWN]) + (" ..." if len(reading.missing) > _NUM_SHOWN else "")
        note(f"{path}: {len(reading.missing):,} of {len(set(vocabulary or ())):,} words have no vector: {shown}")
    return reading


def _read_vocabulary(path: Path) -> list[str]:
    """Read the words of a store, of a tokenizer.json, or of a file with a word a line, up to the first blank."""
    if path.is_dir() or path.suffix == ".json":
        from facetvec.vocabulary.tokenizer import SPECIAL_WORDS, load_tokenizer, words_of

        tokenizer = load_tokenizer(path / "tokenizer.json" if path.is_dir() else path)
        return [word for word in words_of(tokenizer) if word not in SPECIAL_WORDS]
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"expected a file with a word a line ({error})", path=path) from error
    words = [line.split()[0] for line in lines if line.strip()]
    if not words:
        raise InputError("expected a word a line, found none", path=path)
    return words


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not out.is_terminal:
        for row in (header, *rows):
            say("\t".join(row))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(*header)
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)
