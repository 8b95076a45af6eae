"""Sources → blocks → paragraphs, and all that can be wrong with them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from facetvec.config import CorpusConfig
from facetvec.errors import InputError
from facetvec.text import blocks
from facetvec.text.blocks import Skipped, read_blocks
from facetvec.text.documents import DOCUMENT_END, paragraphs
from facetvec.text.sources import Source


def documents(path: Path, config: CorpusConfig | None = None, skipped: Skipped | None = None) -> list[list[str]]:
    """Read a file whole: its documents as lists of paragraphs, blank ones left out."""
    config, skipped = config or CorpusConfig(), skipped or Skipped()
    found: list[list[str]] = [[]]
    for block in read_blocks(Source(path), config, skipped):
        for paragraph in paragraphs(block, config, skipped):
            if paragraph is DOCUMENT_END:
                found.append([])
            elif paragraph.strip():
                found[-1].append(paragraph)
    return [document for document in found if document]


def written(tmp_path: Path, content: str | bytes, name: str = "a.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 16)


TEXT = "one\ntwo\n\nthree\n#x\nfour"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (CorpusConfig(), [["one", "two"], ["three", "#x", "four"]]),
        (CorpusConfig(documents="line"), [["one"], ["two"], ["three"], ["#x"], ["four"]]),
        (CorpusConfig(documents="file"), [["one", "two", "three", "#x", "four"]]),
        (CorpusConfig(documents="marker", document_marker="^#"), [["one", "two", "three"], ["four"]]),
        (CorpusConfig(wrapped=True), [["one two"], ["three #x four"]]),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_documents_end_where_the_setting_says(
    tmp_path: Path, config: CorpusConfig, expected: list[list[str]], end: str, line_break: str, bom: str
) -> None:
    path = written(tmp_path, bom + (TEXT + end).replace("\n", line_break))
    assert documents(path, config) == expected


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("boundary", ["blank", "line", "file"])
def test_where_blocks_are_cut_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boundary: str) -> None:
    lines = [f"line {number}" if number % 4 else "" for number in range(40)]
    path = written(tmp_path, "\n".join(lines))
    config = CorpusConfig.from_table({"documents": boundary})
    in_small_blocks = documents(path, config)
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 1 << 20)
    assert documents(path, config) == in_small_blocks
    assert sum(map(len, in_small_blocks)) == 30


@pytest.mark.usefixtures("small_blocks")
def test_a_line_longer_than_a_block_is_cut_at_blanks_and_stays_one_document(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(50))
    found = documents(written(tmp_path, f"{words}\nnext"), CorpusConfig(documents="line"))
    assert len(found) == 2
    assert "".join(found[0]) == words
    assert max(map(len, found[0])) <= 32
    assert found[1] == ["next"]


@pytest.mark.usefixtures("small_blocks")
def test_a_line_without_any_blank_is_cut_between_characters(tmp_path: Path) -> None:
    found = documents(written(tmp_path, "größe" * 40))
    assert "".join(found[0]) == "größe" * 40


def test_line_numbers_go_on_from_block_to_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 64)
    path = written(tmp_path, b"".join(b"good line\n" for _ in range(41)) + b"bad \xff line\n")
    with pytest.raises(InputError, match=r"a\.txt:42: expected UTF-8, found the byte 0xff at column 5"):
        documents(path)


def test_a_bad_line_can_be_skipped_and_is_counted(tmp_path: Path) -> None:
    skipped = Skipped()
    path = written(tmp_path, b"good\nbad \xff\xfe\ngood too\n\xc3\n")
    assert documents(path, CorpusConfig(on_error="skip"), skipped) == [["good", "good too"]]
    assert [message.partition(": ")[0] for message in skipped.messages] == [f"{path}:2", f"{path}:4"]


def test_a_binary_file_is_named_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.txt:3: expected text, found a zero byte"):
        documents(written(tmp_path, b"one\ntwo\nthr\0ee\n"))


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_a_truncated_archive_is_named(
    tmp_path: Path, compress: dict[str, Callable[[bytes], bytes]], suffix: str
) -> None:
    text = "".join(f"line {number * number}\n" for number in range(5000)).encode()
    whole = compress[suffix](text)
    path = written(tmp_path, whole[: len(whole) * 2 // 3], f"a.txt.{suffix}")
    with pytest.raises(InputError, match=rf"a\.txt\.{suffix}:1: the file is broken or cut off"):
        documents(path)
    skipped = Skipped()
    documents(path, CorpusConfig(on_error="skip"), skipped)
    assert len(skipped.messages) == 1


def test_a_flipped_byte_in_an_archive_is_noticed(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"some words and some more\n" * 500))
    whole[len(whole) // 2] ^= 0xFF
    with pytest.raises(InputError, match="broken or cut off"):
        documents(written(tmp_path, bytes(whole), "a.gz"))


def test_json_lines_are_documents_of_their_own(tmp_path: Path) -> None:
    records = [{"body": "one\ntwo", "id": 1}, {"body": "three\r\n\r\nfour"}, {"body": ""}]
    path = written(tmp_path, "\n\n".join(map(json.dumps, records)), "a.jsonl")
    assert documents(path, CorpusConfig(field="body")) == [["one", "two"], ["three", "four"]]


@pytest.mark.usefixtures("small_blocks")
def test_a_json_line_longer_than_a_block_stays_whole(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"text": "word " * 100}) + '\n{"text": "next"}\n', "a.jsonl")
    assert documents(path) == [["word " * 100], ["next"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a.jsonl:2: not valid JSON"),
        ('{"title": "x"}', "a.jsonl:2: expected an object with text in the field 'text', found title: str"),
        ('{"text": 3}', "a.jsonl:2: expected an object with text in the field 'text', found text: int"),
        ("[1]", "a.jsonl:2: expected an object with text in the field 'text', found list"),
        ("{}", "found an empty object"),
        ("[" * 100_000, "a.jsonl:2: not valid JSON"),
    ],
)
def test_a_bad_json_line_is_named_or_skipped(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, '{"text": "one"}\n' + line + '\n{"text": "two"}\n', "a.jsonl")
    with pytest.raises(InputError) as error:
        documents(path)
    assert message in str(error.value)
    skipped = Skipped()
    assert documents(path, CorpusConfig(on_error="skip"), skipped) == [["one"], ["two"]]
    assert len(skipped.messages) == 1


def test_half_a_surrogate_pair_in_json_becomes_a_replacement_character(tmp_path: Path) -> None:
    assert documents(written(tmp_path, '{"text": "a\\ud83d b \\ud83d\\ude00"}', "a.jsonl")) == [["a\ufffd b 😀"]]


def test_tables_give_a_document_a_row_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    content = '\ufeffid,text\r\n1,"one, ""two""\r\nthree"\r\n2,four\r\n'
    expected = [['one, "two"', "three"], ["four"]]
    assert documents(written(tmp_path, content, "a.csv")) == expected
    tabs = written(tmp_path, "id\ttext\n1\tone\n2\t\n3\ttwo\n", "a.tsv")
    assert documents(tabs) == [["one"], ["two"]]


@pytest.mark.usefixtures("small_blocks")
def test_tables_of_many_blocks_are_read_whole(tmp_path: Path) -> None:
    rows = "".join(f"{number},text number {number}\n" for number in range(100))
    found = documents(written(tmp_path, "id,text\n" + rows, "a.csv"))
    assert found == [[f"text number {number}"] for number in range(100)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,body\n1,x\n", r"a\.csv:1: expected a column 'text' in the header, found id, body"),
        (b"", r"a\.csv:1: expected a column 'text' in the header, found nothing"),
        (b"id,text\n1,x\n2\n", r"a\.csv:3: expected at least 2 columns, found 1"),
        (b"id,text\n1,\xff\n", r"a\.csv:2: expected UTF-8"),
        (b'id,text\n1,"x"y\n', r"a\.csv:2: not a row of a table"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        documents(written(tmp_path, content, "a.csv"))


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    skipped = Skipped()
    path = written(tmp_path, b"id,text\n1,one\n2\n3,\xff\n4,two\n", "a.csv")
    assert documents(path, CorpusConfig(on_error="skip"), skipped) == [["one"], ["two"]]
    assert len(skipped.messages) == 2


def test_a_truncated_compressed_table_is_named(tmp_path: Path) -> None:
    rows = "".join(f"{number},text number {number * 7919}\n" for number in range(3000))
    whole = gzip.compress(("id,text\n" + rows).encode())
    with pytest.raises(InputError, match=r"a\.csv\.gz: the file is broken or cut off"):
        documents(written(tmp_path, whole[:-4000], "a.csv.gz"))


def test_parquet_gives_a_document_a_row(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"text": ["one\ntwo", "three"], "id": [1, 2]}), path)
    assert documents(path) == [["one", "two"], ["three"]]
    with pytest.raises(InputError, match=r"a\.parquet: expected a column 'body', found text, id"):
        documents(path, CorpusConfig(field="body"))
    with pytest.raises(InputError, match=r"a\.parquet:1: expected text in 'id', found int"):
        documents(path, CorpusConfig(field="id"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"a\.parquet: not a Parquet file"):
        documents(path)


def test_the_format_can_be_said_where_the_name_does_not(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "one"}\n', "a.data")
    assert documents(path, CorpusConfig(format="jsonl")) == [["one"]]


def test_empty_files_have_no_documents(tmp_path: Path) -> None:
    assert documents(written(tmp_path, "")) == []
    assert documents(written(tmp_path, "\n \n\t\n")) == []
