"""`facetvec vectors`: what the commands print and write."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from facetvec.cli.vectors import app
from facetvec.errors import InputError
from facetvec.vectors import read_vectors
from facetvec.vocabulary.tokenizer import build_tokenizer

Run = Callable[..., tuple[str, str]]
TEXT = "king 2 0\nqueen 3 1\napple 0 2\npear 1 3\nking 9 9\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command and return what it wrote to standard output and to standard error."""

    def run_command(*arguments: str | Path) -> tuple[str, str]:
        app(list(map(str, arguments)), standalone_mode=False)
        return capsys.readouterr()

    return run_command


def test_convert_writes_the_words_of_a_vocabulary_and_reports_the_rest(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("pear 30\nplum 20\nking 10\n", encoding="utf-8")
    out, err = run("convert", source, tmp_path / "out.safetensors", "--vocabulary", tmp_path / "words.txt")
    space = read_vectors(tmp_path / "out.safetensors").space
    assert space.words == ("king", "pear")
    assert space.vectors_VD.tolist() == [[2, 0], [1, 3]]
    assert "1 of 3 words have no vector: plum" in err
    assert "1 repeated words" in err
    assert "2 words, 2 dimensions" in out


@pytest.mark.parametrize("name", ["", "tokenizer.json"])
def test_convert_takes_the_words_of_a_tokenizer(run: Run, name: str, source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    build_tokenizer(["apple", "plum"], lower=True, pretokenized=False).save(str(folder / "tokenizer.json"))
    _, err = run("convert", source, tmp_path / "out.txt", "--vocabulary", folder / name)
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "1 2\napple 0.0 2.0\n"
    assert "1 of 2 words have no vector: plum" in err


def test_convert_removes_what_is_common_then_scales_to_unit_length(run: Run, source: Path, tmp_path: Path) -> None:
    run("convert", source, tmp_path / "out.safetensors", "--remove-mean", "--unit", "--dtype", "float16")
    vectors = np.array([[2, 0], [3, 1], [0, 2], [1, 3]]) - [1.5, 1.5]
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(read_vectors(tmp_path / "out.safetensors").space.vectors_VD, expected, atol=1e-3)
    run("convert", source, tmp_path / "out.safetensors", "--remove-components", "1", "--limit", "2")
    assert read_vectors(tmp_path / "out.safetensors").space.words == ("king", "queen")


def test_convert_skips_malformed_lines_when_asked(run: Run, source: Path, tmp_path: Path) -> None:
    source.write_text(TEXT + "plum 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"small\.txt:6: "):
        run("convert", source, tmp_path / "out.vec")
    _, err = run("convert", source, tmp_path / "out.vec", "--on-error", "skip")
    assert "skipped 1 malformed lines, the first: " in err
    assert "small.txt:6: " in err


def test_info_says_what_a_file_holds(run: Run, source: Path) -> None:
    facts = json.loads(run("info", source, "--json")[0])
    assert facts == {
        "file": str(source),
        "format": "glove",
        "words": 4,
        "dimensions": 2,
        "has_counts": False,
        "duplicates": 1,
        "skipped": 0,
        "zero_vectors": 0,
        "mean_length": pytest.approx((2 + 10**0.5 + 2 + 10**0.5) / 4, abs=1e-4),
        "first_words": ["king", "queen", "apple", "pear"],
    }
    assert "first words   king queen apple pear" in run("info", source)[0].splitlines()


def test_nearest_leaves_the_word_itself_out(run: Run, source: Path) -> None:
    found = json.loads(run("nearest", source, "king", "apple", "-n", "2", "--json")[0])
    assert found["king"] == [{"word": "queen", "cosine": 0.9487}, {"word": "pear", "cosine": 0.3162}]
    assert [entry["word"] for entry in found["apple"]] == ["pear", "queen"]
    lines = run("nearest", source, "king", "-n", "1")[0].splitlines()
    assert lines == ["word\tneighbour\tcosine", "king\tqueen\t0.949"]


def test_nearest_names_the_words_that_are_unknown(run: Run, source: Path) -> None:
    with pytest.raises(InputError, match=r"small\.txt: no vector for 'plum' 'fig'"):
        run("nearest", source, "king", "plum", "fig")


def test_check_prints_coverage_and_spearman(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "wordsim").mkdir()
    pairs = "king queen 9\nking apple 1\nking pear 3\nking plum 5\n"
    (tmp_path / "wordsim" / "EN-SMALL.txt").write_text(pairs, encoding="utf-8")
    found = json.loads(run("check", source, "--data", tmp_path, "--json")[0])
    assert found == [{"dataset": "SMALL", "pairs": 4, "covered": 3, "spearman": pytest.approx(1)}]
    lines = run("check", source, "--data", tmp_path)[0].splitlines()
    assert lines == ["data set\tpairs\tcovered\tshare\tspearman", "SMALL\t4\t3\t75%\t1.000"]


def test_a_vocabulary_without_words_is_an_error(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    for name in ("empty.txt", "none.txt"):
        with pytest.raises(InputError, match=f"{name}: expected a"):
            run("convert", source, tmp_path / "out.txt", "--vocabulary", tmp_path / name)
