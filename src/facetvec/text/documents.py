"""Blocks → paragraphs, with the places where documents end.

In: a block. Out: paragraphs in order, each a string without line breaks, and `DOCUMENT_END` wherever a document ends. A
line is a paragraph; with `wrapped`, the lines up to the next blank one are. A block may begin and end amid a document.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from facetvec.config import CorpusConfig
from facetvec.errors import InputError
from facetvec.text.blocks import Block, Skipped

DOCUMENT_END: Final = None


def paragraphs(block: Block, config: CorpusConfig, skipped: Skipped) -> Iterator[str | None]:
    """Yield the paragraphs of a block and `DOCUMENT_END` where documents end, also before one that starts a source."""
    if block.starts_source:
        yield DOCUMENT_END
    if block.kind == "text":
        yield from _split(_decode(block, config, skipped), config)
        return
    records = block.records if block.kind == "records" else _json_records(block, config, skipped)
    for _, text in records:
        lines = _lines(text)
        yield from _joined(lines) if config.wrapped else lines
        yield DOCUMENT_END


def _split(text: str, config: CorpusConfig) -> Iterator[str | None]:
    """Split plain text where `config.documents` says."""
    lines = _lines(text)
    if config.documents == "line":
        for line in lines[:-1]:
            yield line
            yield DOCUMENT_END
        yield from lines[-1:]
        if text.endswith("\n"):  # else the line may go on in the next block
            yield DOCUMENT_END
    elif config.documents == "marker":
        is_marker = re.compile(config.document_marker or "").search
        for line in lines:
            yield DOCUMENT_END if is_marker(line) else line
    elif config.documents == "blank":
        for paragraph in _joined(lines) if config.wrapped else lines:
            yield paragraph if paragraph.strip() else DOCUMENT_END
    else:
        yield from _joined(lines) if config.wrapped else lines


def _lines(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n")


def _joined(lines: list[str]) -> Iterator[str]:
    """Join hard-wrapped lines up to each blank line; the blank lines stay, as empty paragraphs."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line.strip())
            continue
        if paragraph:
            yield " ".join(paragraph)
            paragraph = []
        yield ""
    if paragraph:
        yield " ".join(paragraph)


def _decode(block: Block, config: CorpusConfig, skipped: Skipped) -> str:
    """Decode a block of UTF-8; lines that are not are errors."""
    try:
        return block.data.decode()
    except UnicodeDecodeError:
        return "\n".join(_decoded_lines(block, config, skipped))


def _decoded_lines(block: Block, config: CorpusConfig, skipped: Skipped) -> Iterator[str]:
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            message = f"expected UTF-8, found the byte 0x{line[error.start]:02x} at column {error.start + 1}"
            skipped.add(InputError(message, path=block.source, line=number), on_error=config.on_error)


def _json_records(block: Block, config: CorpusConfig, skipped: Skipped) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_decode(block, config, skipped).split("\n"), block.first_line):
        try:
            if line.strip():
                yield number, _json_text(line, config.field)
        except ValueError as error:
            skipped.add(InputError(str(error), path=block.source, line=number), on_error=config.on_error)


def _json_text(line: str, field: str) -> str:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {error}") from error
    text = record.get(field) if isinstance(record, dict) else None
    if isinstance(text, str):
        return _without_surrogates(text)
    found = (
        ", ".join(f"{name}: {type(value).__name__}" for name, value in record.items())
        if isinstance(record, dict)
        else type(record).__name__
    )
    raise ValueError(f"expected an object with text in the field {field!r}, found {found or 'an empty object'}")


def _without_surrogates(text: str) -> str:
    """Mend what JSON can spell and UTF-8 cannot: halves of surrogate pairs become replacement characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
