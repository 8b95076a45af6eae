"""WordSpace: look-ups, alignment, unit length, neighbours, gensim."""

import numpy as np
import pytest
from numpy.typing import NDArray

from facetvec.errors import InputError
from facetvec.vectors import WordSpace


def space_of(
    vectors: list[list[float]], words: str = "a b c d e f g h", *, counts: list[int] | None = None
) -> WordSpace:
    return WordSpace(
        words=tuple(words.split()[: len(vectors)]),
        vectors_VD=np.array(vectors, dtype=np.float32),
        counts=None if counts is None else np.array(counts, dtype=np.int64),
    )


COMPASS = space_of([[0, 2], [3, 0], [0, -1], [-5, 0]], "north east south west", counts=[9, 7, 7, 1])


def test_rows_are_minus_one_where_the_space_lacks_the_word() -> None:
    assert COMPASS.rows(["west", "up", "north", "west"]).tolist() == [3, -1, 0, 3]
    assert COMPASS.rows([]).tolist() == []


def test_a_lone_string_is_no_list_of_words() -> None:
    with pytest.raises(InputError, match="lone string 'north'"):
        COMPASS.rows("north")


def test_aligned_vectors_follow_the_given_order_and_mark_missing_words() -> None:
    aligned = COMPASS.align(["up", "south", "north", "down"])
    assert aligned.vectors_ND.tolist() == [[0, 0], [0, -1], [0, 2], [0, 0]]
    assert aligned.is_known_N.tolist() == [False, True, True, False]
    assert aligned.missing == ("up", "down")


def test_a_restricted_space_holds_known_words_once_in_the_given_order_with_their_counts() -> None:
    space = COMPASS.restrict(["west", "up", "north", "west"])
    assert space.words == ("west", "north")
    assert space.vectors_VD.tolist() == [[-5, 0], [0, 2]]
    assert space.counts is not None
    assert space.counts.tolist() == [1, 9]


def test_a_space_of_no_words_answers_too() -> None:
    space = COMPASS.restrict(["up"])
    assert len(space) == 0
    assert space.vectors_VD.shape == (0, 2)
    assert space.nearest(COMPASS.vectors_VD[:1], n=3) == [[]]
    assert space.unit().vectors_VD.shape == (0, 2)


def test_unit_vectors_have_length_one_at_any_scale_and_zero_stays_zero() -> None:
    unit = space_of([[3e30, 4e30], [3e-40, -4e-40], [0, 0]]).unit()
    expected = np.array([[0.6, 0.8], [0.6, -0.8], [0, 0]])
    np.testing.assert_allclose(np.array(unit.vectors_VD), expected, rtol=1e-5)


def test_unit_does_not_change_the_space_it_is_called_on() -> None:
    space = space_of([[3, 4]])
    space.unit()
    assert space.vectors_VD.tolist() == [[3, 4]]


def nearest_by_loop(space: WordSpace, query: NDArray[np.float32], n: int) -> list[tuple[str, float]]:
    found = []
    for word, vector in zip(space.words, space.vectors_VD, strict=True):
        lengths = float(np.linalg.norm(query)) * float(np.linalg.norm(vector))
        found.append((word, float(query @ vector) / lengths if lengths else 0.0))
    return sorted(found, key=lambda entry: -entry[1])[:n]


def test_nearest_agrees_with_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facetvec.vectors.space._COSINES_AT_A_TIME", 80)  # several blocks
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(30, 5)).astype(np.float32)
    space = space_of(vectors.tolist(), " ".join(f"w{row}" for row in range(30)))
    queries = rng.normal(size=(7, 5)).astype(np.float32)
    for found, query in zip(space.nearest(queries, n=4), queries, strict=True):
        expected = nearest_by_loop(space, query, 4)
        assert [word for word, _ in found] == [word for word, _ in expected]
        np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in expected], atol=1e-6)


def test_of_equally_near_words_the_earlier_come_first() -> None:
    space = space_of([[0, 1], [2, 0], [5, 0], [1, 0], [3, 0]])
    assert [word for word, _ in space.nearest(np.array([[1, 0]], np.float32), n=3)[0]] == ["b", "c", "d"]


def test_a_crowd_of_equals_comes_in_the_order_of_the_space() -> None:
    space = space_of([*([[1.0, 0.0]] * 50), [2, 1]], " ".join(f"w{row}" for row in range(51)))
    found = space.nearest(np.array([[2, 1]], np.float32), n=40)[0]
    assert [word for word, _ in found] == ["w50", *(f"w{row}" for row in range(39))]


def test_the_cosine_with_a_zero_vector_is_zero() -> None:
    space = space_of([[0, 0], [1, 0], [-1, 0]])
    queries = np.array([[0, 0], [1, 0]], dtype=np.float32)
    assert space.nearest(queries, n=9) == [[("a", 0), ("b", 0), ("c", 0)], [("b", 1), ("a", 0), ("c", -1)]]


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (("a", "a"), [[1], [2]], "once, found 1 repeated"),
        (("a", ""), [[1], [2]], "no empty word"),
        (("a\nb",), [[1]], "no newline"),
        (("\ud800",), [[1]], "not valid Unicode"),
        (("a",), [[1], [2]], "float32 matrix with 1 rows"),
        (("a",), [[np.nan]], "found nan or infinity"),
        (("a",), [[]], "float32 matrix with 1 rows, found float32 of shape"),
    ],
)
def test_a_space_that_breaks_its_promises_cannot_be_made(
    words: tuple[str, ...], vectors: list[list[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        WordSpace(words=words, vectors_VD=np.array(vectors, dtype=np.float32))


def test_counts_must_be_as_many_as_words() -> None:
    with pytest.raises(InputError, match="expected 1 int64 counts"):
        space_of([[1]], counts=[1, 2])


def test_vectors_of_another_dimension_have_no_neighbours() -> None:
    for queries in (np.zeros((1, 3), np.float32), np.zeros(2, np.float32)):
        with pytest.raises(InputError, match=r"expected vectors of shape \(N, 2\), found \("):
            COMPASS.nearest(queries, n=1)


def test_gensim_gives_back_the_space_it_was_given() -> None:
    pytest.importorskip("gensim")
    again = WordSpace.from_gensim(COMPASS.to_gensim())
    assert again.words == COMPASS.words
    assert np.array_equal(again.vectors_VD, COMPASS.vectors_VD)
    assert again.counts is not None
    assert again.counts.tolist() == [9, 7, 7, 1]


def test_gensim_finds_the_neighbours_that_the_space_finds() -> None:
    pytest.importorskip("gensim")
    space = space_of(np.random.default_rng(1).normal(size=(8, 4)).tolist())
    theirs = space.to_gensim().most_similar("c", topn=3)
    ours = space.nearest(space.vectors_VD[space.rows(["c"])], n=4)[0][1:]
    assert [word for word, _ in ours] == [word for word, _ in theirs]


def test_counts_that_gensim_made_up_are_not_taken() -> None:
    pytest.importorskip("gensim")
    keyed_vectors = space_of([[1], [2], [3]], counts=[3, 2, 1]).to_gensim()
    assert WordSpace.from_gensim(keyed_vectors).counts is None
