import subprocess
import sys
from pathlib import Path

import pytest

from facetvec.errors import MissingExtraError, StoreError
from facetvec.files import atomic_write, import_extra, only_run_on, read_json, sha256, write_json


def test_an_atomic_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.write(b"".join(["no bytes"]))  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"word": "größe", "list": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"word": "größe", "list": [1, 2.5, None]}


@pytest.mark.parametrize("content", ["{", "[1]", ""])
def test_json_that_is_no_object_is_an_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(StoreError, match=r"a\.json"):
        read_json(tmp_path / "a.json")


def test_sha256_is_that_of_the_standard(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_second_run_on_a_folder_stops_and_names_it(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from facetvec.files import only_run_on\nwith only_run_on(pathlib.Path(sys.argv[1])): pass"
    )
    with only_run_on(tmp_path / "out"):
        second = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True)
    assert second.returncode == 1
    assert "BusyError" in second.stderr
    assert str(tmp_path / "out") in second.stderr
    with only_run_on(tmp_path / "out"):
        pass  # free again


def test_the_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with only_run_on(tmp_path):
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_an_error_with_the_pip_command() -> None:
    with pytest.raises(
        MissingExtraError, match=r"painting needs the package no_such_package: pip install 'facetvec\[art\]'"
    ):
        import_extra("no_such_package.inner", extra="art", purpose="painting")
