"""Writing word spaces, and the safetensors form of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from facetvec.errors import ConfigError, InputError
from facetvec.progress import Step
from facetvec.vectors import WordSpace, read_vectors, write_vectors

SPACE = WordSpace(
    words=("the", "naïve", "at home", "日本"),
    vectors_VD=np.array([[0.1, -2], [1 / 3, 1e-7], [0, 0], [65504, 5]], dtype=np.float32),
    counts=np.array([40, 30, 20, 10], dtype=np.int64),
)
METADATA = {"format": "facetvec-vectors", "version": "1"}


def tensors() -> dict[str, Any]:
    words = np.frombuffer("\n".join(SPACE.words).encode(), dtype=np.uint8)
    return {"vectors": SPACE.vectors_VD, "words": words, "counts": SPACE.counts}


def assert_same(first: WordSpace, second: WordSpace) -> None:
    assert first.words == second.words
    assert np.array_equal(first.vectors_VD, second.vectors_VD)


def test_safetensors_give_back_words_vectors_and_counts_bit_for_bit(tmp_path: Path) -> None:
    write_vectors(SPACE, tmp_path / "space.safetensors")
    reading = read_vectors(tmp_path / "space.safetensors")
    assert_same(reading.space, SPACE)
    assert reading.space.counts is not None
    assert reading.space.counts.tolist() == [40, 30, 20, 10]
    assert reading.file_format == "safetensors"


def test_the_safetensors_package_reads_what_is_written(tmp_path: Path) -> None:
    write_vectors(SPACE, tmp_path / "space.safetensors")
    found = safetensors.numpy.load_file(tmp_path / "space.safetensors")
    assert found.keys() == tensors().keys()
    for name, tensor in tensors().items():
        assert np.array_equal(found[name], tensor), name
        assert found[name].dtype == tensor.dtype


def test_what_the_safetensors_package_writes_is_read(tmp_path: Path) -> None:
    safetensors.numpy.save_file(tensors(), tmp_path / "space.safetensors", METADATA)
    assert_same(read_vectors(tmp_path / "space.safetensors").space, SPACE)


def test_a_space_without_counts_and_one_without_words_come_back(tmp_path: Path) -> None:
    empty = WordSpace(words=(), vectors_VD=np.zeros((0, 3), dtype=np.float32))
    for name in ("space.safetensors", "space.txt"):
        write_vectors(empty, tmp_path / name)
        again = read_vectors(tmp_path / name).space
        assert (len(again), again.dimension, again.counts) == (0, 3, None)


def test_the_same_space_makes_the_same_bytes(tmp_path: Path) -> None:
    space = SPACE.restrict(["the", "naïve"])
    for name in ("a.safetensors", "a.txt.gz"):
        write_vectors(space, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write_vectors(space, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    assert first[4:8] == bytes(4)  # no time in the header of gzip


def test_float16_keeps_what_fits_and_refuses_the_rest(tmp_path: Path) -> None:
    write_vectors(SPACE, tmp_path / "half.safetensors", dtype="float16")
    assert np.array_equal(
        read_vectors(tmp_path / "half.safetensors").space.vectors_VD, SPACE.vectors_VD.astype(np.float16)
    )
    large = WordSpace(words=("a",), vectors_VD=np.array([[-70000]], dtype=np.float32))
    with pytest.raises(InputError, match=r"do not fit float16.*found 70000"):
        write_vectors(large, tmp_path / "large.safetensors", dtype="float16")
    assert not (tmp_path / "large.safetensors").exists()


def test_parts_of_a_safetensors_file_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facetvec.vectors.tensor_file._NUMBERS_AT_A_TIME", 3)
    write_vectors(SPACE, tmp_path / "space.safetensors")
    assert_same(read_vectors(tmp_path / "space.safetensors").space, SPACE)
    reading = read_vectors(tmp_path / "space.safetensors", vocabulary=["日本", "up", "naïve"])
    assert_same(reading.space, SPACE.restrict(["naïve", "日本"]))
    assert reading.missing == ("up",)
    assert reading.space.counts is not None
    assert reading.space.counts.tolist() == [30, 10]
    assert read_vectors(tmp_path / "space.safetensors", limit=2).space.words == ("the", "naïve")


def test_text_holds_the_shortest_digits_that_read_back_the_same(tmp_path: Path) -> None:
    space = SPACE.restrict(["日本", "the", "naïve"])
    write_vectors(space, tmp_path / "space.vec")
    assert (tmp_path / "space.vec").read_text(encoding="utf-8") == (
        "3 2\n日本 65504.0 5.0\nthe 0.1 -2.0\nnaïve 0.33333334 1e-07\n"
    )
    assert_same(read_vectors(tmp_path / "space.vec").space, space)


def test_packed_text_reads_back(tmp_path: Path) -> None:
    space = SPACE.restrict(["the", "naïve"])
    write_vectors(space, tmp_path / "space.txt.gz")
    assert gzip.decompress((tmp_path / "space.txt.gz").read_bytes()).startswith(b"2 2\nthe ")
    assert_same(read_vectors(tmp_path / "space.txt.gz").space, space)


def test_gensim_reads_the_text(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    space = SPACE.restrict(["the", "naïve", "日本"])
    write_vectors(space, tmp_path / "space.txt")
    assert_same(WordSpace.from_gensim(models.KeyedVectors.load_word2vec_format(str(tmp_path / "space.txt"))), space)


def test_text_refuses_words_with_blanks_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="words with blanks, found 1, the first 'at home'"):
        write_vectors(SPACE, tmp_path / "space.txt")
    assert list(tmp_path.iterdir()) == []


def test_the_name_must_tell_the_format(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"space\.bin: expected a name that ends in \.safetensors"):
        write_vectors(SPACE, tmp_path / "space.bin")
    with pytest.raises(ConfigError, match=r"float16 is for \.safetensors"):
        write_vectors(SPACE.restrict(["the"]), tmp_path / "space.txt", dtype="float16")


def test_progress_of_writing_ends_at_its_total(tmp_path: Path) -> None:
    for name in ("a.safetensors", "a.txt"):
        steps: list[Step] = []
        write_vectors(SPACE.restrict(["the", "naïve"]), tmp_path / name, progress=steps.append)
        assert steps[-1].done == steps[-1].total


def broken(name: str, tensor: object) -> dict[str, Any]:
    return {**tensors(), name: tensor}


@pytest.mark.parametrize(
    ("content", "metadata", "message"),
    [
        (tensors(), {}, "expected a word space with the metadata"),
        (tensors(), {**METADATA, "version": "2"}, "of a newer facetvec"),
        ({"vectors": SPACE.vectors_VD}, METADATA, "expected the tensors vectors, words"),
        (broken("extra", SPACE.vectors_VD), METADATA, "expected the tensors vectors, words"),
        (broken("vectors", SPACE.vectors_VD.astype(np.float64)), METADATA, "vectors: expected a float32 or float16"),
        (broken("vectors", SPACE.vectors_VD[0]), METADATA, "vectors: expected a float32 or float16 matrix"),
        (broken("vectors", SPACE.vectors_VD[:, :0]), METADATA, "vectors: expected a float32 or float16 matrix"),
        (broken("vectors", SPACE.vectors_VD[:3]), METADATA, "counts: expected I64"),
        (broken("vectors", np.full((4, 2), np.inf, np.float32)), METADATA, "found nan or infinity"),
        (broken("counts", np.arange(3)), METADATA, r"counts: expected I64 \[4\], found I64 \[3\]"),
        (broken("counts", np.arange(4, dtype=np.int32)), METADATA, r"counts: expected I64 \[4\], found I32"),
        (broken("words", np.frombuffer(b"a\nb\nc", np.uint8)), METADATA, "words: expected 4 different words, found 3"),
        (broken("words", np.frombuffer(b"a\nb\nc\na", np.uint8)), METADATA, "words: expected 4 different words"),
        (broken("words", np.frombuffer(b"a\nb\n\nc", np.uint8)), METADATA, "words: expected 4 different words"),
        (broken("words", np.frombuffer(b"a\nb\nc\n\xff", np.uint8)), METADATA, "words: expected UTF-8"),
        (broken("words", np.zeros(4, np.int64)), METADATA, "words: expected one row of uint8, found int64"),
    ],
)
def test_a_safetensors_file_that_is_no_word_space_says_why(
    content: dict[str, Any], metadata: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "space.safetensors"
    safetensors.numpy.save_file(
        {name: np.ascontiguousarray(tensor) for name, tensor in content.items()}, path, metadata
    )
    with pytest.raises(InputError, match=message) as raised:
        read_vectors(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_a_damaged_safetensors_file_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "space.safetensors"
    write_vectors(SPACE, path)
    whole = path.read_bytes()
    for damaged in (whole[:-3], whole[:40], whole + b"more", whole.replace(b'"F32"', b'"F99"')):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"space\.safetensors: not a whole safetensors file"):
            read_vectors(path)


def test_a_packed_safetensors_file_is_turned_away(tmp_path: Path) -> None:
    write_vectors(SPACE, tmp_path / "space.safetensors")
    packed = tmp_path / "space.safetensors.gz"
    packed.write_bytes(gzip.compress((tmp_path / "space.safetensors").read_bytes()))
    with pytest.raises(InputError, match="unpack it first"):
        read_vectors(packed)


def test_the_header_is_the_documented_one(tmp_path: Path) -> None:
    write_vectors(SPACE, tmp_path / "space.safetensors")
    whole = (tmp_path / "space.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    assert length % 8 == 0
    assert json.loads(whole[8 : 8 + length]) == {
        "__metadata__": METADATA,
        "counts": {"dtype": "I64", "shape": [4], "data_offsets": [0, 32]},
        "vectors": {"dtype": "F32", "shape": [4, 2], "data_offsets": [32, 64]},
        "words": {"dtype": "U8", "shape": [25], "data_offsets": [64, 89]},
    }
