import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from facetvec.errors import InputError
from facetvec.text.sources import Source, find_sources, open_bytes

Compress = dict[str, Callable[[bytes], bytes]]


def paths(inputs: list[str | Path]) -> list[str]:
    return [Path(str(source)).name for source in find_sources(inputs)]


def read(source: Source) -> bytes:
    with open_bytes(source) as (stream, _):
        return stream.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "inner/c.txt", ".hidden", ".git/d.txt", "e.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_folder_gives_all_files_below_it_in_order_but_the_hidden_ones(folder: Path) -> None:
    assert paths([folder]) == ["a.txt", "b.txt", "e.csv", "c.txt"]


def test_globs_and_files_come_in_the_order_named_each_once(folder: Path) -> None:
    assert paths([folder / "e.csv", str(folder / "*.txt"), folder / "a.txt"]) == ["e.csv", "a.txt", "b.txt"]
    assert paths([str(folder / "**" / "c.txt")]) == ["c.txt"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("x")
    assert paths([tmp_path / "a[1].txt"]) == ["a[1].txt"]


@pytest.mark.parametrize("name", ["nothing.txt", "*.none"])
def test_input_that_names_no_file_is_an_error_that_names_it(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_sources([folder / name])


def test_no_input_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="no input"):
        find_sources([])


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.packed"])
def test_compression_is_told_by_content_whatever_the_name(
    tmp_path: Path, compress: Compress, suffix: str, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(compress[suffix](b"some text\n" * 1000))
    assert read(Source(path)) == b"some text\n" * 1000


def test_members_of_a_compressed_file_are_read_one_after_the_other(tmp_path: Path, compress: Compress) -> None:
    for suffix, pack in compress.items():
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(pack(b"one\n") + pack(b"two\n"))
        assert read(Source(path)) == b"one\ntwo\n", suffix


def test_standard_input_may_be_compressed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"piped"))))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read(find_sources(["-"])[0]) == b"piped"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.jsonl.gz", ".jsonl"), ("a.CSV", ".csv"), ("a.tar.xz", ".tar"), ("a", ""), ("a.gz", ""), ("v1.2.txt", ".txt")],
)
def test_the_format_is_the_ending_below_that_of_compression(name: str, kind: str) -> None:
    assert Source(Path(name)).kind == kind


@pytest.mark.parametrize(
    ("start", "advice"),
    [(b"7z\xbc\xaf\x27\x1c", "7zz x -so"), (b"PK\x03\x04", "zip"), (b"\xff\xfea\0", "iconv"), (b"%PDF-1.7", "PDF")],
)
def test_files_often_taken_for_text_get_advice(tmp_path: Path, start: bytes, advice: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(start + b"...")
    with pytest.raises(InputError, match=advice):
        read(Source(path))


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.txt: cannot be opened"):
        read(Source(tmp_path / "gone.txt"))
