"""Arrays on the disk: appended to while they are written, mapped into memory when they are read; and chance by number.

In: parts of an array. Out: one `.npy` file, that numpy maps without reading it.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

PHRASE_REACH = np.arange(1, 6)  # how far from a phrase, to either side, its targets stand


class ArrayWriter:
    """Writes a one-dimensional array part by part. numpy leaves room in the header for the length, known at the end."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, part: NDArray[Any]) -> None:
        """Add a part at the end."""
        self._file.write(part.astype(self.dtype).data)
        self.length += len(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if error is None:
                self._file.seek(0)
                self._write_header()

    def _write_header(self) -> None:
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._file, header)


def mix64(values: NDArray[np.uint64], *, key: int) -> NDArray[np.uint64]:
    """Hash numbers to numbers (the finaliser of SplitMix64): the same everywhere, whatever the release of numpy.

    For one key no two numbers share a hash. Sorting by it shuffles; the smallest k of some items are k drawn at random.
    """
    mixed = values + np.uint64(key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
