"""Writes word spaces: safetensors for facetvec, word2vec text for others.

In: a word space and a path, whose ending says the format. Out: the file, whole or not at all. Text holds the shortest
digits that read back as the same float32; it holds no counts, and no words with blanks, which others could not read.
"""

import gzip
from pathlib import Path
from typing import IO, Literal, cast

import numpy as np

from facetvec.errors import ConfigError, InputError
from facetvec.files import atomic_write
from facetvec.progress import Progress, Step, silent
from facetvec.vectors.space import WordSpace
from facetvec.vectors.tensor_file import write_tensors

_TEXT_ENDINGS = (".txt", ".vec", ".txt.gz", ".vec.gz")
_ROWS_AT_A_TIME = 1 << 10


def write_vectors(
    space: WordSpace,
    path: Path | str,
    *,
    dtype: Literal["float32", "float16"] = "float32",
    progress: Progress = silent,
) -> None:
    """Write a word space as safetensors (`.safetensors`) or as word2vec text (`.txt`, `.vec`, and these with `.gz`)."""
    path = Path(path)
    is_text = path.name.lower().endswith(_TEXT_ENDINGS)
    if not is_text and path.suffix.lower() != ".safetensors":
        raise ConfigError(f"{path}: expected a name that ends in .safetensors, {', '.join(_TEXT_ENDINGS)}")
    if dtype == "float16":
        _check_float16(space, is_text=is_text)
    if is_text:
        _check_blanks(space)
    with atomic_write(path) as file:
        if not is_text:
            write_tensors(space, file, dtype=dtype, progress=progress)
        elif path.suffix.lower() == ".gz":
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                _write_text(space, cast("IO[bytes]", packed), progress=progress)
        else:
            _write_text(space, file, progress=progress)


def _write_text(space: WordSpace, file: IO[bytes], *, progress: Progress) -> None:
    file.write(f"{len(space)} {space.dimension}\n".encode())
    for start in range(0, len(space), _ROWS_AT_A_TIME):
        rows = zip(
            space.words[start : start + _ROWS_AT_A_TIME], space.vectors_VD[start : start + _ROWS_AT_A_TIME], strict=True
        )
        file.write("".join(f"{word} {' '.join(map(str, vector_D))}\n" for word, vector_D in rows).encode())
        progress(
            Step(stage="writing vectors", done=min(start + _ROWS_AT_A_TIME, len(space)), total=len(space), unit="words")
        )


def _check_float16(space: WordSpace, *, is_text: bool) -> None:
    if is_text:
        raise ConfigError("dtype: float16 is for .safetensors; text is written with all digits of float32")
    largest = float(np.abs(space.vectors_VD).max(initial=0))
    if largest > float(np.finfo(np.float16).max):
        raise InputError(f"the vectors do not fit float16, which ends at 65504: found {largest:g}; write float32")


def _check_blanks(space: WordSpace) -> None:
    with_blank = [word for word in space.words if " " in word]
    if with_blank:
        raise InputError(
            f"word2vec text cannot hold words with blanks, found {len(with_blank)}, the first {with_blank[0]!r}: "
            "write .safetensors, or restrict the space to words without blanks"
        )
