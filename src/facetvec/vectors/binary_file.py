"""word2vec's binary files.

In: after a line `V D`, V times a word, a blank and D little-endian float32 numbers, maybe with a newline between. Out:
the wanted ones, to a collector. Nothing is set aside for what the header claims: memory follows what is really there.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from facetvec.errors import InputError
from facetvec.vectors.collector import Collector

_LONGEST_WORD = 1 << 16


def read_binary(blocks: Iterable[bytes], collector: Collector, *, dimension: int, num_promised: int) -> None:
    """Give the words of a binary file to the collector."""
    for first, records in _records(blocks, collector, size=4 * dimension, num_promised=num_promised):
        kept = [
            (place, word, vector)
            for place, (word, vector) in enumerate(records, first)
            if collector.wanted is None or word in collector.wanted
        ]
        if kept:
            places, words, vectors = zip(*kept, strict=True)
            collector.add(places, words, np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, dimension))
        if not collector.room:
            return


def _records(
    blocks: Iterable[bytes], collector: Collector, *, size: int, num_promised: int
) -> Iterator[tuple[int, list[tuple[bytes, bytes]]]]:
    """Yield what is whole of each block, with the number of its first word; check the count at the end."""
    done, rest = 0, b""
    for number, block in enumerate(blocks):
        rest += block if number else block[block.index(b"\n") + 1 :]
        records, end = _whole_records(rest, size=size, at_most=num_promised - done)
        rest = rest[end:]
        yield done + 1, records
        done += len(records)
        if done == num_promised:
            break
        if len(rest) > size + _LONGEST_WORD and not records:
            raise InputError(f"no blank where word {done + 1} should end: is the file binary?", path=collector.path)
    if done < num_promised:
        raise InputError(
            f"the header promises {num_promised} words, the file ends after {done}: is it cut off?", path=collector.path
        )
    if rest.strip(b"\n"):
        raise InputError(f"expected the end after {done} words, as the header says, found more", path=collector.path)


def _whole_records(buffer: bytes, *, size: int, at_most: int) -> tuple[list[tuple[bytes, bytes]], int]:
    records: list[tuple[bytes, bytes]] = []
    start = 0
    while len(records) < at_most:
        blank = buffer.find(b" ", start)
        end = blank + 1 + size
        if blank < 0 or end > len(buffer):
            break
        records.append((buffer[start:blank].lstrip(b"\n"), buffer[blank + 1 : end]))
        start = end
    return records, start
