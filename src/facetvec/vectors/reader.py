"""Reads word vectors that others made, and our own.

In: a file of GloVe text, word2vec text or binary, fastText .vec, or safetensors, compressed or not (gzip, bzip2, xz,
zstd); the format is told by the content. Out: a `Reading`, its words in the order of the file. Only the words of a
given vocabulary are kept, so that memory follows the vocabulary and not the file.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Literal

from facetvec.errors import ConfigError, InputError
from facetvec.progress import Progress, Step, silent
from facetvec.text.sources import BROKEN_ARCHIVE, Source, open_bytes
from facetvec.vectors.binary_file import read_binary
from facetvec.vectors.collector import Collector, FileFormat, Reading
from facetvec.vectors.layout import HEAD_SIZE, Layout, find_layout
from facetvec.vectors.tensor_file import read_tensors
from facetvec.vectors.text_file import read_text

_BLOCK_SIZE = 1 << 22


def read_vectors(
    path: Path | str,
    *,
    vocabulary: Collection[str] | None = None,
    file_format: FileFormat | Literal["auto"] = "auto",
    limit: int | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    progress: Progress = silent,
) -> Reading:
    """Read the vectors of the words in `vocabulary`, or of all words, at most the first `limit` of them.

    A malformed line is an error that names file and line, or is skipped and counted with `on_error="skip"`. Words of
    the vocabulary that the file lacks are listed in `missing`.
    """
    if isinstance(vocabulary, str):
        raise ConfigError(f"vocabulary: expected a collection of words, found the lone string {vocabulary!r}")
    if limit is not None and limit < 1:
        raise ConfigError(f"limit: expected at least 1, found {limit}")
    path = Path(path)
    with open_bytes(Source(path)) as (stream, raw):
        blocks = _blocks(stream, raw, path=path, progress=progress)
        head = next(blocks, b"")
        layout = find_layout(head, path=path, file_format=file_format)
        if layout.file_format != "safetensors":
            collector = Collector(
                path,
                vocabulary=vocabulary,
                limit=limit,
                on_error=on_error,
                places="word" if layout.file_format == "word2vec-binary" else "line",
            )
            _fill(collector, chain([head], blocks), layout=layout)
            return collector.reading(layout.file_format, dimension=layout.dimension)
        if stream is not raw:
            raise InputError("a compressed safetensors file is not read: unpack it first", path=path)
    return read_tensors(path, vocabulary=vocabulary, limit=limit, progress=progress)


def _fill(collector: Collector, blocks: Iterable[bytes], *, layout: Layout) -> None:
    if layout.file_format == "word2vec-binary" and layout.num_promised is not None:
        read_binary(blocks, collector, dimension=layout.dimension, num_promised=layout.num_promised)
    else:
        read_text(blocks, collector, dimension=layout.dimension, num_promised=layout.num_promised)


def _blocks(stream: IO[bytes], raw: IO[bytes], *, path: Path, progress: Progress) -> Iterator[bytes]:
    """Yield the bytes of a file; the first block is large enough to tell its format."""
    total = path.stat().st_size
    size = HEAD_SIZE
    while True:
        try:
            block = stream.read(size)
        except BROKEN_ARCHIVE as error:
            raise InputError(f"the file cannot be read to its end: {error}", path=path) from error
        if not block:
            return
        yield block
        progress(Step(stage="reading vectors", done=raw.tell(), total=total, unit="B"))
        size = _BLOCK_SIZE
