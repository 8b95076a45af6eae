"""The command `facetvec`: thin commands over the public names.

In: arguments. Out: results on standard output, all else on standard error. Exit codes: 0 done, 1 the input or a file is
wrong (one line; `-v` shows where), 2 wrong usage, 130 stopped from the keyboard.
"""

import io
import logging
import sys
from typing import Annotated

import typer

from facetvec.cli import corpus, train, vectors
from facetvec.cli.console import note, say, set_up_logging
from facetvec.errors import FacetvecError

logger = logging.getLogger(__name__)

app = typer.Typer(
    name="facetvec",
    help="Multi-facet embeddings of sentences and phrases, trained on your own text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(corpus.prepare)
app.command()(corpus.info)
app.command()(train.train)
app.command()(corpus.demo)
app.add_typer(vectors.app, name="vectors")


def main() -> None:
    """Run the command line; an error of ours, or of the disk, becomes one line and exit code 1."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that knows fewer letters than the text gets "?"
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except FacetvecError as error:
        _end(str(error), error)
    except OSError as error:
        _end(f"{error.filename}: {error.strerror}", error)


def _end(message: str, error: Exception) -> None:
    logger.debug("where it happened:", exc_info=error)
    note(f"facetvec: {message}", style="red")
    sys.exit(1)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        from facetvec import __version__

        say(__version__)
        raise typer.Exit


@app.callback()
def _options(
    *,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say more, and show where an error happened.")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda wanted: _show_version(wanted=wanted), is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    set_up_logging(verbose=verbose)
