"""The model folder: comes back as it was, and is refused if a byte of it is not."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from facetvec.checkpoint import ModelFolder, write_model_folder
from facetvec.errors import StoreError
from facetvec.files import read_json, write_json
from facetvec.vectors import WordSpace
from facetvec.vocabulary.tokenizer import build_tokenizer

WORDS = ["boat", "harbour", "oven"]
CONFIG = {
    "model": {"num_facets": 3, "dim": 4},
    "corpus": {"unit": "sentence", "document_marker": "^#|x"},
    "training": {"steps": 12},
    "facts": {"name": "tiny", "sentences": 1234},
}


def write(path: Path, *, is_shared: bool = False) -> ModelFolder:
    generator = np.random.default_rng(0)
    space = WordSpace(words=tuple(WORDS), vectors_VD=generator.normal(size=(3, 4)).astype(np.float32))
    weights: dict[str, NDArray[np.floating]] = {
        "a.weight": generator.normal(size=(2, 3)).astype(np.float32),
        "b": np.zeros(0, np.float16),
    }
    tokenizer = build_tokenizer(WORDS, lower=True, pretokenized=False)
    return write_model_folder(
        path, config=CONFIG, tokenizer=tokenizer, space=space, weights=weights, is_shared=is_shared
    )


def test_a_folder_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = write(tmp_path / "model")
    opened = ModelFolder.open(tmp_path / "model")
    assert {name: opened.config[name] for name in CONFIG} == CONFIG
    assert opened.tokenizer().encode("Boat oven").ids == [3, 5, 2]
    assert opened.space().words == tuple(WORDS)
    for name, weight in written.weights().items():
        assert np.array_equal(opened.weights()[name], weight)
        assert opened.weights()[name].dtype == weight.dtype
    assert "tiny" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_the_same_model_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_models_can_share_a_word_space(tmp_path: Path) -> None:
    for name in ("sentence", "phrase"):
        write(tmp_path / name, is_shared=True)
    for name in ("sentence", "phrase"):
        opened = ModelFolder.open(tmp_path / name)
        assert opened.file("vectors.safetensors") == tmp_path / "vectors.safetensors"
        assert opened.space().words == tuple(WORDS)
        assert not (tmp_path / name / "tokenizer.json").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "vectors.safetensors", "tokenizer.json", "README.md"])
def test_a_missing_a_longer_and_a_changed_file_are_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "model")
    path = tmp_path / "model" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(StoreError, match=rf"{name}: its bytes are not those that were written"):
        ModelFolder.open(tmp_path / "model")
    path.write_bytes(whole + b" ")
    with pytest.raises(StoreError, match=rf"{name}: expected {len(whole)} bytes, found {len(whole) + 1}"):
        ModelFolder.open(tmp_path / "model")
    path.unlink()
    with pytest.raises(StoreError, match=rf"{name}: missing"):
        ModelFolder.open(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "reads version 1, found 2; update facetvec"),
        ({"format": "other"}, "expected the format 'facetvec-model', found 'other'"),
        ({"files": {"../../etc/passwd": {}}}, "expected names of files in this folder or its parent"),
        ({"files": {"..": {}}}, "expected names of files in this folder or its parent"),
        ({"files": {"/etc/passwd": {}}}, "expected names of files in this folder or its parent"),
    ],
)
def test_a_strange_config_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    write(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    write_json(path, read_json(path) | change)
    with pytest.raises(StoreError, match=message):
        ModelFolder.open(tmp_path / "model")


def test_what_is_no_model_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no model"):
        ModelFolder.open(tmp_path)
    with pytest.raises(StoreError, match="no such folder"):
        ModelFolder.open(tmp_path / "gone")


def test_a_folder_that_is_being_written_does_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model")
    monkeypatch.setattr("facetvec.checkpoint.folder.sha256", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(StoreError, match="holds no model"):
        ModelFolder.open(tmp_path / "model")


def test_the_card_is_markdown_that_pipes_do_not_break(tmp_path: Path) -> None:
    write(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "| document marker | ^#\\|x |" in card
    assert "| sentences | 1,234 |" in card
    assert json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))["facts"]["name"] == "tiny"
