"""Where text comes from: files, folders, globs, standard input; compressed or not.

In: what the user named. Out: sources in a fixed order, each a stream of decompressed bytes. Compression is told by the
first bytes, not by the name. `TAKEN_FOR_OTHERS` holds the first bytes of what is often taken for text and is not.
"""

import bz2
import glob
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from facetvec.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STANDARD_INPUT = "-"
TAKEN_FOR_OTHERS = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it on the way: 7zz x -so FILE | facetvec prepare - --out DIR",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe": "UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8 FILE",
    b"\xfe\xff": "UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8 FILE",
    b"%PDF-": "a PDF; extract its text first",
}
BROKEN_ARCHIVE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstd.ZstdError)


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of text: a file, or standard input where `path` is None."""

    path: Path | None

    def __str__(self) -> str:
        return STANDARD_INPUT if self.path is None else str(self.path)

    @property
    def size(self) -> int:
        """Bytes on the disk, compressed as they are; 0 for standard input."""
        return 0 if self.path is None else self.path.stat().st_size

    @property
    def kind(self) -> str:
        """The ending that names the format, below any ending of compression: `.jsonl` for `a.jsonl.gz`."""
        suffixes = [] if self.path is None else [suffix.lower() for suffix in self.path.suffixes]
        while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz", ".zst"):
            suffixes.pop()
        return suffixes[-1] if suffixes else ""


def find_sources(inputs: Iterable[str | Path]) -> list[Source]:
    """Return the sources that files, folders (with all below them), globs and "-" name, each once.

    Files of a folder or a glob come in the order of their paths; hidden ones are passed over.
    """
    sources: dict[Source, None] = {}
    for name in map(str, inputs):
        if name == STANDARD_INPUT:
            sources[Source(None)] = None
        else:
            sources.update((Source(path), None) for path in _find(name))
    if not sources:
        raise InputError("no input: name files, folders, globs, or - for standard input")
    return list(sources)


@contextmanager
def open_bytes(source: Source) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a source: the stream of decompressed bytes, and the raw stream beneath, whose position tells progress."""
    try:
        opened = nullcontext(_standard_input()) if source.path is None else source.path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=str(source)) from error
    with opened as raw:
        yield _decompressed(raw, source), raw


def _standard_input() -> io.BufferedReader:
    return cast("io.BufferedReader", sys.stdin.buffer)


def _find(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        below = (found for found in path.rglob("*") if found.is_file())
        files = sorted(file for file in below if not _is_hidden(file.relative_to(path)))
    elif path.exists():
        files = [path]
    else:
        files = [file for file in sorted(map(Path, glob.glob(name, recursive=True))) if file.is_file()]  # noqa: PTH207 — globs may be absolute
    if not files:
        raise InputError("no such file, and no files there or matching it", path=name)
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _decompressed(raw: io.BufferedReader, source: Source) -> IO[bytes]:
    start = raw.peek(6)
    for magic, what in TAKEN_FOR_OTHERS.items():
        if start.startswith(magic):
            raise InputError(f"expected text, found {what}", path=str(source))
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(raw))
    if start.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.open(raw))
    if start.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.open(raw))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return cast("IO[bytes]", zstd.open(raw))
    return raw
