"""Word spaces in safetensors files, also as `vectors.safetensors` of a model folder.

The file holds the tensors `vectors` [V, D] (float32 or float16), maybe `counts` [V] (int64), and `words` (uint8: the
words in UTF-8, parted by newlines), and the metadata format "facetvec-vectors", version "1". Loading checks all of it.

In: a path. Out: a `Reading`; and the other way round. The header is written here, and not by the safetensors package,
because that one puts the metadata in an order that changes from run to run: the same space makes the same bytes.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import safetensors
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.progress import Progress, Step
from facetvec.vectors.collector import Reading, missing_words
from facetvec.vectors.space import WordSpace

_METADATA = {"format": "facetvec-vectors", "version": "1"}
_NAMES = {"<f4": "F32", "<f2": "F16", "<i8": "I64", "|u1": "U8"}
_NUMBERS_AT_A_TIME = 1 << 22


def read_tensors(path: Path, *, vocabulary: Collection[str] | None, limit: int | None, progress: Progress) -> Reading:
    """Read the wanted words of a word space file, in its order; its vectors pass through memory a part at a time."""
    wanted = None if vocabulary is None else set(vocabulary)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            words = _checked_words(file, path=path)
            rows = [row for row, word in enumerate(words) if wanted is None or word in wanted][:limit]
            vectors_VD = _chosen_rows(file, np.array(rows, dtype=np.int64), path=path, progress=progress)
            counts = file.get_tensor("counts")[rows] if "counts" in _names(file) else None
    except safetensors.SafetensorError as error:
        raise InputError(f"not a whole safetensors file ({error})", path=path) from error
    space = WordSpace(words=tuple(words[row] for row in rows), vectors_VD=vectors_VD, counts=counts)
    return Reading(
        space=space,
        file_format="safetensors",
        duplicates=0,
        skipped=0,
        first_skipped="",
        missing=missing_words(vocabulary, space),
    )


def write_tensors(
    space: WordSpace, file: IO[bytes], *, dtype: Literal["float32", "float16"], progress: Progress
) -> None:
    """Write a word space in the form that `read_tensors` reads."""
    words = np.frombuffer("\n".join(space.words).encode(), dtype=np.uint8)
    tensors: dict[str, tuple[NDArray[Any], str]] = {}
    if space.counts is not None:
        tensors["counts"] = (space.counts, "<i8")
    tensors["vectors"] = (space.vectors_VD, "<f4" if dtype == "float32" else "<f2")
    tensors["words"] = (words, "|u1")
    header: dict[str, object] = {"__metadata__": _METADATA}
    end = 0
    for name, (array, kind) in tensors.items():
        start, end = end, end + array.size * np.dtype(kind).itemsize
        header[name] = {"dtype": _NAMES[kind], "shape": array.shape, "data_offsets": [start, end]}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    file.write(len(encoded).to_bytes(8, "little") + encoded)
    for array, kind in tensors.values():
        step = max(1, _NUMBERS_AT_A_TIME // max(1, array[:1].size))
        for first in range(0, len(array), step):
            file.write(array[first : first + step].astype(kind).tobytes())
            progress(Step(stage="writing vectors", done=file.tell(), total=8 + len(encoded) + end, unit="B"))


def _checked_words(file: Any, *, path: Path) -> list[str]:
    if file.metadata() != _METADATA:
        raise InputError(
            f"expected a word space with the metadata {_METADATA}, found {file.metadata()}: "
            "it is another kind of safetensors file, or of a newer facetvec",
            path=path,
        )
    slices = {name: file.get_slice(name) for name in _names(file)}
    found = {name: (part.get_dtype(), part.get_shape()) for name, part in slices.items()}
    if not {"vectors", "words"} <= set(found) <= {"vectors", "words", "counts"}:
        raise InputError(f"expected the tensors vectors, words and maybe counts, found {sorted(found)}", path=path)
    kind, shape = found["vectors"]
    if kind not in ("F32", "F16") or len(shape) != 2 or shape[1] == 0:
        raise InputError(f"vectors: expected a float32 or float16 matrix, found {kind} {shape}", path=path)
    if "counts" in found and found["counts"] != ("I64", shape[:1]):
        raise InputError(f"counts: expected I64 {shape[:1]}, found {' '.join(map(str, found['counts']))}", path=path)
    return _split_words(file.get_tensor("words"), num_words=shape[0], path=path)


def _names(file: Any) -> list[str]:
    return list(file.keys())


def _split_words(words: NDArray[Any], *, num_words: int, path: Path) -> list[str]:
    if words.dtype != np.uint8 or words.ndim != 1:
        raise InputError(f"words: expected one row of uint8, found {words.dtype} {list(words.shape)}", path=path)
    try:
        text = words.tobytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"words: expected UTF-8, found {error}", path=path) from error
    found = text.split("\n") if text else []
    if len(found) != num_words or len(set(found)) != num_words or "" in found:
        raise InputError(f"words: expected {num_words} different words, found {len(set(found) - {''})}", path=path)
    return found


def _chosen_rows(file: Any, rows_N: NDArray[np.int64], *, path: Path, progress: Progress) -> NDArray[np.float32]:
    vectors = file.get_slice("vectors")
    num_words, dimension = vectors.get_shape()
    chosen_ND = np.empty((len(rows_N), dimension), dtype=np.float32)
    step = max(1, _NUMBERS_AT_A_TIME // max(1, dimension))
    for start in range(0, num_words, step):
        part_BD = vectors[start : min(start + step, num_words)].astype(np.float32)
        if not np.isfinite(part_BD).all():
            raise InputError("vectors: expected finite numbers, found nan or infinity", path=path)
        first, last = np.searchsorted(rows_N, [start, start + len(part_BD)])
        chosen_ND[first:last] = part_BD[rows_N[first:last] - start]
        progress(Step(stage="reading vectors", done=start + len(part_BD), total=num_words, unit="words"))
    return chosen_ND
