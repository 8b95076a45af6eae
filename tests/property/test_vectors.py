"""Laws of reading and writing word spaces, on spaces that chance makes."""

import contextlib
from pathlib import Path
from typing import Literal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.vectors import WordSpace, read_vectors, write_vectors
from facetvec.vectors.space import unit_rows

WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=6),
    max_size=8,
    unique=True,
)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def spaces(draw: st.DrawFn, *, blanks: bool = True) -> WordSpace:
    words = [word for word in draw(WORDS) if blanks or " " not in word]
    dimension = draw(st.integers(1, 4))
    vectors = draw(arrays(np.float32, (len(words), dimension), elements=NUMBERS))
    counts = draw(st.none() | arrays(np.int64, len(words)))
    return WordSpace(words=tuple(words), vectors_VD=vectors, counts=counts)


def _listed(counts: NDArray[np.int64] | None) -> list[int] | None:
    return None if counts is None else counts.tolist()


@given(space=spaces())
def test_safetensors_give_back_any_space(space: WordSpace, tmp_path: Path) -> None:
    write_vectors(space, tmp_path / "a.safetensors")
    again = read_vectors(tmp_path / "a.safetensors").space
    assert again.words == space.words
    assert again.vectors_VD.tobytes() == space.vectors_VD.tobytes()
    assert _listed(again.counts) == _listed(space.counts)


@given(space=spaces(blanks=False))
def test_text_gives_back_any_space_without_blanks(space: WordSpace, tmp_path: Path) -> None:
    write_vectors(space, tmp_path / "a.txt")
    again = read_vectors(tmp_path / "a.txt", file_format="word2vec").space
    assert again.words == space.words
    assert again.vectors_VD.tobytes() == space.vectors_VD.tobytes()


@given(space=spaces(blanks=False), wanted=WORDS, name=st.sampled_from(["a.safetensors", "a.vec.gz"]))
def test_reading_for_a_vocabulary_is_reading_all_and_choosing(
    space: WordSpace, wanted: list[str], name: str, tmp_path: Path
) -> None:
    write_vectors(space, tmp_path / name)
    asked = [*wanted, *space.words[::2]]
    reading = read_vectors(tmp_path / name, vocabulary=asked)
    expected = [word for word in space.words if word in asked]
    assert reading.space.words == tuple(expected)
    assert np.array_equal(reading.space.vectors_VD, space.restrict(expected).vectors_VD)
    assert reading.missing == tuple(dict.fromkeys(word for word in asked if word not in space))


@given(content=st.binary(max_size=60) | st.from_regex(rb"[0-3] [0-3]\n([ab0-3. \n]|\x00){0,40}", fullmatch=True))
def test_whatever_a_file_holds_it_is_read_or_is_an_error_of_ours(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    choices: tuple[Literal["stop", "skip"], ...] = ("stop", "skip")
    for on_error in choices:
        with contextlib.suppress(InputError):
            read_vectors(tmp_path / "a", on_error=on_error)


@given(space=spaces(), words=WORDS)
def test_an_alignment_agrees_with_the_space_word_by_word(space: WordSpace, words: list[str]) -> None:
    asked = [*words, *space.words]
    aligned = space.align(asked)
    for word, vector, is_known in zip(asked, aligned.vectors_ND, aligned.is_known_N, strict=True):
        assert is_known == (word in space.words)
        expected = space.vectors_VD[space.words.index(word)] if is_known else np.zeros(space.dimension)
        assert np.array_equal(vector, expected)


@given(arrays(np.float32, (5, 3), elements=NUMBERS))
def test_unit_rows_have_length_one_or_zero(vectors: NDArray[np.float32]) -> None:
    lengths = np.linalg.norm(unit_rows(vectors).astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, vectors.any(axis=1), atol=1e-6)


@given(space=spaces(), n=st.integers(1, 9))
def test_neighbours_come_in_falling_order_and_are_distinct(space: WordSpace, n: int) -> None:
    for found in space.nearest(space.vectors_VD, n=n):
        cosines = [cosine for _, cosine in found]
        assert cosines == sorted(cosines, reverse=True)
        assert len({word for word, _ in found}) == min(n, len(space))
        assert all(-1 <= cosine <= 1 for cosine in cosines)
