"""What a vector file is, told by its first bytes.

In: the beginning of a file, decompressed. Out: its format, its dimension, and the number of words that a header
promises. Files that hold code (Python pickles) or a program's own model are turned away with a hint.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from facetvec.errors import InputError
from facetvec.vectors.collector import FileFormat
from facetvec.vectors.text_file import num_trailing_numbers

HEAD_SIZE = 1 << 20
_HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_NUM_LINES = 100
_LARGEST_DIMENSION = 1 << 20
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How to read a file; `num_promised` is None where there is no header. A safetensors file tells the rest itself."""

    file_format: FileFormat
    dimension: int = 0
    num_promised: int | None = None


def find_layout(head: bytes, *, path: Path, file_format: FileFormat | Literal["auto"]) -> Layout:
    """Tell the layout of the file that begins with `head`, and its format too where that is "auto"."""
    if not head:
        raise InputError("expected word vectors, found an empty file", path=path)
    _turn_away(head, path=path)
    is_tensors = head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32
    if file_format == "safetensors" or (file_format == "auto" and is_tensors):
        return Layout(file_format="safetensors")
    lines = head.rstrip(b"\n").split(b"\n", maxsplit=_NUM_LINES)[:_NUM_LINES]
    header = _HEADER.fullmatch(lines[0])
    if header and file_format != "glove":
        return _layout_of_header(int(header[1]), int(header[2]), lines[1:], path=path, file_format=file_format)
    if file_format in ("word2vec", "word2vec-binary"):
        raise InputError("expected a header: the number of words, a blank, the dimension", path=path, line=1)
    dimensions = Counter(filter(None, map(num_trailing_numbers, lines)))
    if not dimensions:
        raise InputError("expected lines of a word and its numbers, parted by blanks", path=path, line=1)
    return Layout(file_format="glove", dimension=dimensions.most_common(1)[0][0])


def _layout_of_header(
    num_words: int, dimension: int, lines: list[bytes], *, path: Path, file_format: FileFormat | Literal["auto"]
) -> Layout:
    if not 1 <= dimension <= _LARGEST_DIMENSION:
        raise InputError(f"expected 1 to {_LARGEST_DIMENSION} dimensions, found {dimension}", path=path, line=1)
    if file_format == "auto":
        is_text = 2 * sum(num_trailing_numbers(line) > 0 for line in lines) >= len(lines)
        file_format = "word2vec" if is_text else "word2vec-binary"
    return Layout(file_format=file_format, dimension=dimension, num_promised=num_words)


def _turn_away(head: bytes, *, path: Path) -> None:
    if _PICKLE.match(head):
        raise InputError(
            "a Python pickle, such as gensim saves, can run code and is not read: load it with gensim and give its "
            "KeyedVectors to WordSpace.from_gensim, or save it with save_word2vec_format",
            path=path,
        )
    if head.startswith(_FASTTEXT_MODEL):
        raise InputError("a fastText model is not read: give the .vec file that belongs to it", path=path)
