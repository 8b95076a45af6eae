"""Vector files of text: GloVe, and word2vec text, which is fastText's .vec too.

In: lines of a word and D numbers, parted by single blanks. Out: the wanted ones, to a collector. The word is what
stands before the last D numbers, and may itself hold blanks, as in GloVe 840B (". . ." and "at name@domain.com"). Every
line is checked for its length; only the numbers of wanted words are parsed, many lines at a time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.vectors.collector import Collector

_NUMBER = re.compile(rb"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
_LONGEST_LINE = 1 << 25

Entry = tuple[int, bytes, bytes]
"""A wanted line: its number, its word, its numbers."""


def read_text(blocks: Iterable[bytes], collector: Collector, *, dimension: int, num_promised: int | None) -> None:
    """Give the words of a text file to the collector; `num_promised` is what a header, if there is one, promises."""
    has_header = num_promised is not None
    last = 0
    for number, lines in _lines(blocks, collector):
        last = number + len(lines) - 1
        skip = int(has_header and number == 1)
        _read_lines(lines[skip:], collector, first=number + skip, dimension=dimension)
        if not collector.room:
            return
    if num_promised is not None and last - 1 != num_promised:
        collector.reject(1, f"the header promises {num_promised} words, the file holds {last - 1}: is it cut off?")


def num_trailing_numbers(line: bytes) -> int:
    """Return how many numbers a line ends in, its first field not counted."""
    fields = line.rstrip(b" \r").split(b" ")[1:]
    return next((num for num, field in enumerate(reversed(fields)) if not _NUMBER.fullmatch(field)), len(fields))


def _lines(blocks: Iterable[bytes], collector: Collector) -> Iterator[tuple[int, list[bytes]]]:
    number, rest = 1, b""
    for block in blocks:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        yield number, lines
        number += len(lines)
        if len(rest) > _LONGEST_LINE:
            raise InputError(f"a line longer than {_LONGEST_LINE} bytes", path=collector.path, line=number)
    if rest:
        yield number, [rest]


def _read_lines(lines: Sequence[bytes], collector: Collector, *, first: int, dimension: int) -> None:
    wanted, room = collector.wanted, collector.room
    entries: list[Entry] = []
    for number, line in enumerate(lines, first):
        line = line.rstrip(b" \r")
        end = line.find(b" ") if line.count(b" ") == dimension else _end_of_word(line, dimension=dimension)
        if end > 0 and (wanted is None or line[:end] in wanted):
            entries.append((number, line[:end], line[end + 1 :]))
        if end <= 0 or len(entries) == room:
            _parse(entries, collector, dimension=dimension)
            entries, room = [], collector.room
            if not room:
                return
        if end <= 0:
            collector.reject(number, _wrong_length(line, dimension=dimension))
    _parse(entries, collector, dimension=dimension)


def _end_of_word(line: bytes, *, dimension: int) -> int:
    """Return where the word of a line ends that holds more or fewer blanks than numbers, -1 if it is malformed."""
    word, *numbers = line.rsplit(b" ", dimension)
    if len(numbers) < dimension or word != word.strip(b" ") or _NUMBER.fullmatch(word.rpartition(b" ")[2]):
        return -1
    return len(word)


def _wrong_length(line: bytes, *, dimension: int) -> str:
    if line.startswith(b" "):
        return "no word before the numbers"
    fields = line.count(b" ") + bool(line)
    found = f"{fields} fields that end in {num_trailing_numbers(line)} numbers"
    return f"expected a word and {dimension} numbers, found {found}"


def _parse(entries: Sequence[Entry], collector: Collector, *, dimension: int) -> None:
    if not entries:
        return
    places, words, numbers = zip(*entries, strict=True)
    try:
        vectors_ND = _vectors(numbers, dimension=dimension)
    except ValueError as error:
        vectors_ND, flaw = None, str(error)
    if vectors_ND is not None:
        collector.add(places, words, vectors_ND)
    elif len(entries) == 1:
        collector.reject(places[0], _not_a_number(numbers[0]) or flaw)
    else:
        for entry in entries:  # one of them is malformed
            _parse([entry], collector, dimension=dimension)


def _vectors(numbers: Sequence[bytes], *, dimension: int) -> NDArray[np.float32]:
    vectors_ND = np.loadtxt(numbers, dtype=np.float32, delimiter=" ", comments=None, ndmin=2)
    if vectors_ND.shape != (len(numbers), dimension):
        raise ValueError(f"expected {dimension} numbers")
    return vectors_ND


def _not_a_number(numbers: bytes) -> str:
    for position, field in enumerate(numbers.split(b" "), start=1):
        if not _NUMBER.fullmatch(field):
            return f"number {position} of the vector is {field.decode(errors='replace')!r}, which is no number"
    return ""
