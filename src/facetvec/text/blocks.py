"""Sources → blocks of about two megabytes, the unit of work that worker processes share.

In: sources and settings. Out: blocks in order, cut where a line (or a record of a table) ends, so that the cuts depend
on the text alone. A line of text that is longer than a block is cut at a blank. Only this step reads files; it splits
hardly anything itself, so that one process can feed many workers.
"""

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from facetvec.config import CorpusConfig
from facetvec.errors import InputError
from facetvec.files import import_extra
from facetvec.text.sources import BROKEN_ARCHIVE, Source, open_bytes

BLOCK_SIZE = 2 << 20
_BY_ENDING = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of text, lines of JSON, or records of a table with their line numbers.

    `starts_source` tells whether it is the first of its source; `end` is how many bytes of the source, as it lies on
    the disk, are read when the block is.
    """

    source: str
    kind: Literal["text", "jsonl", "records"]
    first_line: int
    data: bytes = b""
    records: tuple[tuple[int, str], ...] = ()
    starts_source: bool = False
    end: int = 0

    def digest(self) -> str:
        """Return a fingerprint of all that decides what becomes of the block."""
        records = "\x1e".join(text for _, text in self.records).encode("utf-8", "surrogatepass")
        head = f"{self.kind} {self.starts_source} {len(records)}\n".encode()
        return hashlib.blake2b(head + records + self.data, digest_size=16).hexdigest()


@dataclass(slots=True)
class Skipped:
    """What was passed over because `on_error` is "skip"."""

    messages: list[str] = field(default_factory=list)

    def add(self, error: InputError, *, on_error: str) -> None:
        """Note an error, or raise it where errors stop the run."""
        if on_error == "stop":
            raise error
        self.messages.append(str(error))


def read_blocks(source: Source, config: CorpusConfig, skipped: Skipped) -> Iterator[Block]:
    """Read one source. What is wrong beyond a line (a broken archive, a binary file) ends that source."""
    try:
        yield from _readers(source, config, skipped)
    except InputError as error:
        skipped.add(error, on_error=config.on_error)


def _readers(source: Source, config: CorpusConfig, skipped: Skipped) -> Iterator[Block]:
    kind = _BY_ENDING.get(source.kind, "text") if config.format == "auto" else config.format
    if kind == "parquet":
        yield from _in_blocks(source, _parquet_records(source, config.field))
        return
    with open_bytes(source) as (stream, raw):
        if kind in ("text", "jsonl"):
            yield from _line_blocks(stream, raw, source, kind="jsonl" if kind == "jsonl" else "text", config=config)
            return
        records = _table_records(stream, source, config, skipped, delimiter="," if kind == "csv" else "\t")
        try:
            yield from _in_blocks(source, records, raw)
        except BROKEN_ARCHIVE as error:
            raise _broken(error, source) from error


def _line_blocks(
    stream: IO[bytes], raw: IO[bytes], source: Source, *, kind: Literal["text", "jsonl"], config: CorpusConfig
) -> Iterator[Block]:
    rest, line, is_first = b"", 1, True
    while chunk := _read(stream, source, line=line):
        if is_first:
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        if (zero := chunk.find(b"\0")) >= 0:
            place = line + (rest + chunk[:zero]).count(b"\n")
            raise InputError("expected text, found a zero byte: a binary file?", path=str(source), line=place)
        rest += chunk
        if not (cut := _cut(rest, kind=kind, wrapped=config.wrapped)):
            continue
        data, rest = rest[:cut], rest[cut:]
        yield Block(str(source), kind, line, data, starts_source=is_first, end=_position(raw))
        line, is_first = line + data.count(b"\n"), False
    if rest:
        yield Block(str(source), kind, line, rest, starts_source=is_first, end=_position(raw))


def _read(stream: IO[bytes], source: Source, *, line: int) -> bytes:
    try:
        return stream.read(BLOCK_SIZE)
    except BROKEN_ARCHIVE as error:
        raise _broken(error, source, line=line) from error


def _broken(error: BaseException, source: Source, *, line: int | None = None) -> InputError:
    return InputError(f"the file is broken or cut off: {error}", path=str(source), line=line)


def _cut(data: bytes, *, kind: str, wrapped: bool) -> int:
    """Return where to end a block: after a paragraph or a line; for text without any, at a blank; 0 for nowhere yet."""
    if wrapped and len(data) < 4 * BLOCK_SIZE:
        return max(data.rfind(b"\n\n"), data.rfind(b"\n\r\n")) + 1
    if cut := data.rfind(b"\n") + 1:
        return cut
    if kind == "jsonl" or len(data) < BLOCK_SIZE:
        return 0
    if cut := data.rfind(b" ") + 1:
        return cut
    cut = len(data)
    while cut and data[cut - 1] & 0xC0 == 0x80:  # back to the first byte of a character
        cut -= 1
    return cut - 1 if cut > 1 else len(data)


def _in_blocks(source: Source, records: Iterator[tuple[int, str]], raw: IO[bytes] | None = None) -> Iterator[Block]:
    batch: list[tuple[int, str]] = []
    size, is_first = 0, True
    for record in records:
        batch.append(record)
        size += len(record[1])
        if size >= BLOCK_SIZE:
            yield _record_block(source, batch, is_first=is_first, raw=raw)
            batch, size, is_first = [], 0, False
    if batch:
        yield _record_block(source, batch, is_first=is_first, raw=raw)


def _record_block(source: Source, batch: list[tuple[int, str]], *, is_first: bool, raw: IO[bytes] | None) -> Block:
    end = source.size if raw is None else _position(raw)
    return Block(str(source), "records", batch[0][0], records=tuple(batch), starts_source=is_first, end=end)


def _position(raw: IO[bytes]) -> int:
    return raw.tell() if raw.seekable() else 0


def _table_records(
    stream: IO[bytes], source: Source, config: CorpusConfig, skipped: Skipped, *, delimiter: str
) -> Iterator[tuple[int, str]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_decoded(stream), delimiter=delimiter, strict=True)
    header = next(reader, [])
    if config.field not in header:
        found = ", ".join(header) or "nothing"
        raise InputError(f"expected a column {config.field!r} in the header, found {found}", path=str(source), line=1)
    column = header.index(config.field)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
            if row is None:
                return
            yield line, _cell(row, column, source=source, line=line)
        except csv.Error as error:
            skipped.add(
                InputError(f"not a row of a table: {error}", path=str(source), line=line), on_error=config.on_error
            )
        except InputError as error:
            skipped.add(error, on_error=config.on_error)


def _decoded(stream: IO[bytes]) -> Iterator[str]:
    encoding = "utf-8-sig"
    for line in stream:
        yield line.decode(encoding, "surrogateescape")
        encoding = "utf-8"


def _cell(row: list[str], column: int, *, source: Source, line: int) -> str:
    if len(row) <= column:
        raise InputError(f"expected at least {column + 1} columns, found {len(row)}", path=str(source), line=line)
    try:
        row[column].encode()
    except UnicodeEncodeError:
        raise InputError("expected UTF-8, found other bytes", path=str(source), line=line) from None
    return row[column]


def _parquet_records(source: Source, column: str) -> Iterator[tuple[int, str]]:
    parquet: Any = import_extra("pyarrow.parquet", extra="text", purpose="reading Parquet")
    arrow: Any = import_extra("pyarrow", extra="text", purpose="reading Parquet")
    try:
        table = parquet.ParquetFile(source.path)
        if column not in table.schema_arrow.names:
            found = ", ".join(table.schema_arrow.names)
            raise InputError(f"expected a column {column!r}, found {found}", path=str(source))
        number = 0
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            for text in batch.column(0).to_pylist():
                number += 1
                if not isinstance(text, str):
                    kind = type(text).__name__
                    raise InputError(f"expected text in {column!r}, found {kind}", path=str(source), line=number)
                yield number, text
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"not a Parquet file that can be read: {error}", path=str(source)) from error
