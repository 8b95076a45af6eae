"""The check against judged pairs, and taking out what all words share."""

from pathlib import Path

import numpy as np
import pytest

from facetvec.errors import ConfigError, InputError
from facetvec.vectors import WordSimilarity, WordSpace, check_vectors, remove_common
from facetvec.vectors.check import spearman

SPACE = WordSpace(
    words=("hot", "warm", "cold", "Oslo", "void"),
    vectors_VD=np.array([[4, 0], [3, 1], [0, 2], [1, 1], [0, 0]], dtype=np.float32),
)


def folder_with(tmp_path: Path, **sets: str) -> Path:
    (tmp_path / "wordsim").mkdir()
    for name, content in sets.items():
        (tmp_path / "wordsim" / f"EN-{name}.txt").write_bytes(content.encode())
    return tmp_path


def test_spearman_agrees_with_scipy_also_with_ties() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    for num_levels in (2, 3, 10, 1000):
        first, second = rng.integers(num_levels, size=(2, 50)).astype(float)
        found = spearman(first, second + first / 3)
        assert found == pytest.approx(stats.spearmanr(first, second + first / 3).statistic, abs=1e-12)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_spearman_is_none_where_nothing_differs(values: list[float]) -> None:
    array = np.array(values)
    assert spearman(array, np.arange(len(values), dtype=float)) is None
    assert spearman(np.arange(len(values), dtype=float), array) is None


def test_each_set_is_scored_over_the_pairs_that_are_covered(tmp_path: Path) -> None:
    data = folder_with(
        tmp_path,
        B="hot\twarm\t9.5\nhot\tcold\t0\nhot\tOslo\t3\nhot\tunknown\t9\n",
        A="hot cold 10\r\nhot warm 1\r\nwarm cold 5\r\n",
    )
    found = check_vectors(SPACE, data)
    assert [(result.dataset, result.pairs, result.covered) for result in found] == [("A", 3, 3), ("B", 4, 3)]
    assert [result.spearman for result in found] == pytest.approx([-1, 1])


def test_a_word_counts_in_lower_case_where_the_space_lacks_it_as_it_stands(tmp_path: Path) -> None:
    data = folder_with(tmp_path, A="HOT Warm 9\nHot Oslo 5\nhot oslo 7\n")
    assert check_vectors(SPACE, data)[0].covered == 2


def test_a_zero_vector_gets_the_cosine_zero(tmp_path: Path) -> None:
    data = folder_with(tmp_path, A="hot warm 9\nhot void 1\nhot Oslo 5\n")
    assert check_vectors(SPACE, data)[0].spearman == pytest.approx(1)


def test_a_set_of_unknown_words_has_no_score(tmp_path: Path) -> None:
    data = folder_with(tmp_path, A="up down 5\nleft right 4\n", B="")
    assert check_vectors(SPACE, data) == [
        WordSimilarity(dataset="A", pairs=2, covered=0, spearman=None),
        WordSimilarity(dataset="B", pairs=0, covered=0, spearman=None),
    ]


@pytest.mark.parametrize("line", ["hot warm", "hot warm x", "hot warm 1 2", ""])
def test_a_malformed_pair_names_file_and_line(line: str, tmp_path: Path) -> None:
    data = folder_with(tmp_path, A=f"hot cold 1\n{line}\nhot warm 2\n")
    with pytest.raises(InputError, match=r"EN-A\.txt:2: expected a word, a word and a score"):
        check_vectors(SPACE, data)


def test_a_folder_without_sets_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no wordsim/EN-\*\.txt"):
        check_vectors(SPACE, tmp_path)


def random_space(num_words: int, dimension: int) -> WordSpace:
    vectors = np.random.default_rng(5).normal(2, 1, (num_words, dimension)) * np.arange(1, dimension + 1)
    vectors[3] = 0
    return WordSpace(words=tuple(f"w{row}" for row in range(num_words)), vectors_VD=vectors.astype(np.float32))


def test_what_is_common_is_removed_as_singular_vectors_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facetvec.vectors.common._ROWS_AT_A_TIME", 7)
    space = random_space(40, 6)
    is_used = space.vectors_VD.any(axis=1)
    for mean in (False, True):
        used = space.vectors_VD[is_used].astype(np.float64)
        used -= used.mean(axis=0) if mean else 0
        top = np.linalg.svd(used)[2][:2]
        found = remove_common(space, mean=mean, components=2).vectors_VD
        np.testing.assert_allclose(found[is_used], used - used @ top.T @ top, atol=1e-5)
        assert not found[~is_used].any()


def test_without_the_mean_the_mean_is_zero_and_nothing_asked_changes_nothing() -> None:
    space = random_space(40, 6)
    found = remove_common(space, mean=True, components=0).vectors_VD
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-5)
    assert np.array_equal(remove_common(space, mean=False, components=0).vectors_VD, space.vectors_VD)


def test_counts_and_the_given_space_stay() -> None:
    space = WordSpace(words=("a", "b"), vectors_VD=np.eye(2, dtype=np.float32), counts=np.array([2, 1], dtype=np.int64))
    assert remove_common(space, mean=True, components=1).counts is space.counts
    assert np.array_equal(space.vectors_VD, np.eye(2))


@pytest.mark.parametrize("components", [-1, 6])
def test_there_are_fewer_components_than_dimensions(components: int) -> None:
    with pytest.raises(ConfigError, match=f"components: expected 0 to 5, found {components}"):
        remove_common(random_space(9, 6), mean=True, components=components)


def test_a_space_of_no_words_has_nothing_in_common() -> None:
    space = random_space(9, 6).restrict([])
    assert remove_common(space, mean=True, components=2).vectors_VD.shape == (0, 6)
