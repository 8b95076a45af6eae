"""Reading vector files: every format, compression, vocabularies, what is malformed."""

import bz2
import gzip
import lzma
import pickle
import re
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facetvec.errors import ConfigError, InputError
from facetvec.progress import Step
from facetvec.vectors import Reading, read_vectors

GLOVE = "the 0.1 -0.2 3\ncat 1e-3 .5 6.\ndog 7 8 9\n"
WORDS = ("the", "cat", "dog")
VECTORS: list[list[float]] = [[0.1, -0.2, 3], [1e-3, 0.5, 6], [7, 8, 9]]


def binary(
    words: Sequence[bytes], vectors: Sequence[Sequence[float]], *, between: bytes = b"", header: str = ""
) -> bytes:
    header = header or f"{len(words)} {len(vectors[0])}"
    records = (word + b" " + np.array(vector, "<f4").tobytes() for word, vector in zip(words, vectors, strict=True))
    return header.encode() + b"\n" + between.join(records) + between


def compress_zstd(content: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(content)


FILES = {
    "glove": (GLOVE.encode(), "glove"),
    "glove without a last newline": (GLOVE.rstrip().encode(), "glove"),
    "glove with CRLF": (GLOVE.replace("\n", "\r\n").encode(), "glove"),
    "word2vec text": (f"3 3\n{GLOVE}".encode(), "word2vec"),
    "word2vec text with blanks at line ends": (f"3 3\n{GLOVE}".replace("\n", " \n").encode(), "word2vec"),
    "word2vec binary": (binary([b"the", b"cat", b"dog"], VECTORS), "word2vec-binary"),
    "word2vec binary with newlines": (binary([b"the", b"cat", b"dog"], VECTORS, between=b"\n"), "word2vec-binary"),
}


def reading_of(folder: Path, content: str | bytes, **options: Any) -> Reading:
    path = folder / "vectors"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_vectors(path, **options)


def assert_is_small_space(reading: Reading) -> None:
    assert reading.space.words == WORDS
    assert np.array_equal(reading.space.vectors_VD, np.array(VECTORS, dtype=np.float32))
    assert (reading.duplicates, reading.skipped, reading.missing) == (0, 0, ())


@pytest.mark.parametrize("content", FILES)
def test_every_format_is_told_by_its_content_and_read(content: str, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, FILES[content][0])
    assert_is_small_space(reading)
    assert reading.file_format == FILES[content][1]


@pytest.mark.parametrize("content", FILES)
def test_a_format_that_is_named_is_read_the_same(content: str, tmp_path: Path) -> None:
    assert_is_small_space(reading_of(tmp_path, FILES[content][0], file_format=FILES[content][1]))


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, compress_zstd])
@pytest.mark.parametrize("content", ["glove", "word2vec binary"])
def test_compressed_files_are_read(content: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert_is_small_space(reading_of(tmp_path, compress(FILES[content][0])))


@pytest.mark.parametrize("block_size", [1, 7, 64])
@pytest.mark.parametrize("content", FILES)
def test_blocks_may_end_anywhere(
    content: str, block_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facetvec.vectors.reader.HEAD_SIZE", 40)
    monkeypatch.setattr("facetvec.vectors.reader._BLOCK_SIZE", block_size)
    assert_is_small_space(reading_of(tmp_path, FILES[content][0]))


@pytest.mark.parametrize("content", FILES)
def test_only_the_words_of_the_vocabulary_are_kept_and_the_missing_are_named(content: str, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, FILES[content][0], vocabulary=["bird", "dog", "the", "ant", "bird"])
    assert reading.space.words == ("the", "dog")
    assert np.array_equal(reading.space.vectors_VD, np.array([VECTORS[0], VECTORS[2]], dtype=np.float32))
    assert reading.missing == ("bird", "ant")


@pytest.mark.parametrize("content", FILES)
def test_the_first_words_are_read_up_to_a_limit(content: str, tmp_path: Path) -> None:
    assert reading_of(tmp_path, FILES[content][0], limit=2).space.words == WORDS[:2]
    assert reading_of(tmp_path, FILES[content][0], limit=1, vocabulary={"cat", "dog"}).space.words == ("cat",)


def test_what_stands_after_the_limit_is_not_looked_at(tmp_path: Path) -> None:
    assert reading_of(tmp_path, GLOVE + "broken\n", limit=3).space.words == WORDS


@pytest.mark.parametrize("is_binary", [False, True])
def test_memory_follows_the_vocabulary_and_not_the_file(
    is_binary: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("facetvec.vectors.reader.HEAD_SIZE", 1 << 14)
    monkeypatch.setattr("facetvec.vectors.reader._BLOCK_SIZE", 1 << 14)
    words = [b"w%d" % row for row in range(20_000)]
    content = (
        binary(words, [[0.5] * 20] * len(words)) if is_binary else b"".join(w + b" .5" * 20 + b"\n" for w in words)
    )
    path = tmp_path / "vectors"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        assert len(read_vectors(path, vocabulary=["w19999", "w7"]).space) == 2
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(content) / 5


def test_words_may_hold_blanks(tmp_path: Path) -> None:
    content = ". . . 1 2\nthe 3 4\nat name@domain.com 5 6\nno\u00a0break 7 8\n"
    reading = reading_of(tmp_path, content)
    assert reading.space.words == (". . .", "the", "at name@domain.com", "no\u00a0break")
    assert reading.space.vectors_VD.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert reading_of(tmp_path, content, vocabulary=["at name@domain.com", "at"]).missing == ("at",)


def test_words_may_be_numbers_and_hold_odd_characters(tmp_path: Path) -> None:
    words = ("1", "2.5", "nan", "#", '"', "\x85", "\u2028", "日本")
    reading = reading_of(tmp_path, "".join(f"{word} 1 2\n" for word in words))
    assert reading.space.words == words


def test_of_a_word_that_is_repeated_the_first_vector_is_kept(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "a 1 2\nb 3 4\na 5 6\na 7 8\n")
    assert reading.space.vectors_VD.tolist() == [[1, 2], [3, 4]]
    assert reading.duplicates == 2


@pytest.mark.parametrize(
    ("bad_line", "message"),
    [
        ("bad 1", "expected a word and 2 numbers, found 2 fields that end in 1 numbers"),
        ("bad 1 2 3", "expected a word and 2 numbers, found 4 fields that end in 3 numbers"),
        ("bad", "expected a word and 2 numbers, found 1 fields"),
        ("", "expected a word and 2 numbers, found 0 fields"),
        (" 1 2", "no word before the numbers"),
        ("bad  1 2", "expected a word and 2 numbers"),
        ("bad 1  2", "expected a word and 2 numbers, found 4 fields that end in 1 numbers"),
        ("bad  2", "number 1 of the vector is '', which is no number"),
        ("bad 1 x2", "number 2 of the vector is 'x2', which is no number"),
        ("bad 1 0x2", "number 2 of the vector is '0x2', which is no number"),
        ("bad nan 2", "the vector of 'bad' is not finite"),
        ("bad 1 -inf", "the vector of 'bad' is not finite"),
        ("bad 1 1e39", "the vector of 'bad' is not finite"),
    ],
)
def test_a_malformed_line_names_file_and_line_or_is_skipped_and_counted(
    bad_line: str, message: str, tmp_path: Path
) -> None:
    content = f"a 1 2\nb 3 4\n{bad_line}\nc 5 6\n"
    place = re.escape(f"{tmp_path / 'vectors'}:3: ")
    with pytest.raises(InputError, match=place + re.escape(message)) as raised:
        reading_of(tmp_path, content)
    assert raised.value.line == 3
    reading = reading_of(tmp_path, content, on_error="skip")
    assert reading.space.words == ("a", "b", "c")
    assert reading.space.vectors_VD.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert reading.skipped == 1
    assert reading.first_skipped == str(raised.value)


def test_the_first_of_several_malformed_lines_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: number 1"):
        reading_of(tmp_path, "a 1 2\nb x 4\nc 5\nd 6 7\n")


def test_malformed_lines_are_counted_and_the_first_is_told(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "a 1 2\nb x 4\nc 5\nd 6 7\n", on_error="skip")
    assert reading.skipped == 2
    assert reading.first_skipped.startswith(f"{tmp_path / 'vectors'}:2: ")


def test_a_word_that_is_not_utf8_is_malformed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":2: the word b'\\xff' is not UTF-8"):
        reading_of(tmp_path, b"a 1 2\n\xff 3 4\nb 5 6\n")
    assert reading_of(tmp_path, b"a 1 2\n\xff 3 4\nb 5 6\n", on_error="skip").space.words == ("a", "b")
    assert reading_of(tmp_path, b"a 1 2\n\xff 3 4\nb 5 6\n", vocabulary=["b"]).space.words == ("b",)


def test_the_line_of_a_word_that_nobody_asked_for_is_checked_for_its_length(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: expected a word and 2 numbers"):
        reading_of(tmp_path, "a 1 2\nb 3\nc 5 6\n", vocabulary=["c"])


def test_the_later_vector_counts_where_the_first_is_malformed(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "a 1 nan\na 3 4\nb 5 6\n", on_error="skip")
    assert (reading.space.words, reading.duplicates) == (("a", "b"), 0)
    assert reading.space.vectors_VD.tolist() == [[3, 4], [5, 6]]


@pytest.mark.parametrize("promised", [2, 4])
def test_a_text_header_that_promises_another_number_of_words_is_an_error(promised: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f":1: the header promises {promised} words, the file holds 3"):
        reading_of(tmp_path, f"{promised} 3\n{GLOVE}")
    assert reading_of(tmp_path, f"{promised} 3\n{GLOVE}", on_error="skip").space.words == WORDS


def test_a_header_of_no_words_is_text(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "0 3\n", vocabulary=["a"])
    assert (reading.space.vectors_VD.shape, reading.file_format, reading.missing) == ((0, 3), "word2vec", ("a",))


def test_a_text_header_of_another_dimension_makes_the_lines_malformed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: expected a word and 4 numbers, found 4 fields that end in 3 numbers"):
        reading_of(tmp_path, f"3 4\n{GLOVE}")


def test_a_binary_file_that_is_cut_off_or_too_long_names_the_file(tmp_path: Path) -> None:
    whole = FILES["word2vec binary"][0]
    for end in (len(whole) - 1, len(whole) - 13, len(whole) - 16):
        with pytest.raises(InputError, match=r"vectors: the header promises 3 words, the file ends after 2"):
            reading_of(tmp_path, whole[:end], on_error="skip")
    with pytest.raises(InputError, match="vectors: expected the end after 3 words"):
        reading_of(tmp_path, whole + b"more")


def test_a_binary_file_that_claims_too_much_is_an_error_and_no_memory(tmp_path: Path) -> None:
    content = binary([b"a"], [[1, 2]], header="1000000000000 2")
    with pytest.raises(InputError, match="promises 1000000000000 words, the file ends after 1"):
        reading_of(tmp_path, content)
    with pytest.raises(InputError, match=":1: expected 1 to 1048576 dimensions, found 1000000000000"):
        reading_of(tmp_path, binary([b"a"], [[1, 2]], header="1 1000000000000"))


def test_a_malformed_word_of_a_binary_file_is_named_by_its_number_or_skipped(tmp_path: Path) -> None:
    content = binary([b"a", b"\xff", b"c", b""], [[1, 2], [3, 4], [5, np.nan], [7, 8]])
    with pytest.raises(InputError, match=r"vectors: word 2: the word b'\\xff' is not UTF-8"):
        reading_of(tmp_path, content)
    reading = reading_of(tmp_path, content, on_error="skip")
    assert (reading.space.words, reading.skipped) == (("a",), 3)
    with pytest.raises(InputError, match="word 3: the vector of 'c' is not finite"):
        reading_of(tmp_path, content, vocabulary=["c"])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, compress_zstd])
def test_a_compressed_file_that_is_cut_off_names_the_file(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole = compress((GLOVE * 50).encode())
    with pytest.raises(InputError, match="vectors: "):
        reading_of(tmp_path, whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"only words here\nand no numbers\n", ":1: expected lines of a word and its numbers"),
        (pickle.dumps([1, 2]), "a Python pickle.*from_gensim"),
        (gzip.compress(pickle.dumps([1, 2])), "a Python pickle.*from_gensim"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "a fastText model"),
        (b"PK\x03\x04and so on", "a zip archive"),
    ],
)
def test_what_holds_no_vectors_is_turned_away(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"vectors:.*{message}|vectors{message}"):
        reading_of(tmp_path, content)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: "):
        read_vectors(tmp_path / "none.txt")


def test_a_header_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":1: expected a header"):
        reading_of(tmp_path, GLOVE, file_format="word2vec")


def test_a_text_without_lines_is_not_swallowed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facetvec.vectors.text_file._LONGEST_LINE", 100)
    monkeypatch.setattr("facetvec.vectors.reader.HEAD_SIZE", 20)
    monkeypatch.setattr("facetvec.vectors.reader._BLOCK_SIZE", 20)
    with pytest.raises(InputError, match=":3: a line longer than 100 bytes"):
        reading_of(tmp_path, "a 1 2\nb 3 4\n" + "c" * 1000)


def test_settings_out_of_range_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="limit: expected at least 1, found 0"):
        reading_of(tmp_path, GLOVE, limit=0)
    with pytest.raises(ConfigError, match="lone string 'the'"):
        reading_of(tmp_path, GLOVE, vocabulary="the")


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    steps: list[Step] = []
    content = gzip.compress(GLOVE.encode())
    reading_of(tmp_path, content, progress=steps.append)
    assert (steps[-1].done, steps[-1].total, steps[-1].unit) == (len(content), len(content), "B")


def test_gensim_reads_a_text_file_as_facetvec_does(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    rng = np.random.default_rng(0)
    content = "".join(f"w{row} {' '.join(f'{x:.5g}' for x in rng.normal(size=20))}\n" for row in range(50))
    ours = reading_of(tmp_path, content).space
    with_header = tmp_path / "with-header.txt"
    with_header.write_text(f"50 20\n{content}", encoding="utf-8")
    theirs = models.KeyedVectors.load_word2vec_format(str(with_header))
    assert list(ours.words) == theirs.index_to_key
    assert np.array_equal(ours.vectors_VD, theirs.vectors)


def test_binary_files_of_gensim_are_read(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    keyed_vectors = models.KeyedVectors(vector_size=3)
    keyed_vectors.add_vectors(list(WORDS), np.array(VECTORS, dtype=np.float32))
    keyed_vectors.save_word2vec_format(str(tmp_path / "vectors.bin"), binary=True)
    assert_is_small_space(read_vectors(tmp_path / "vectors.bin"))
