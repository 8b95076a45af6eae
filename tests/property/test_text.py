"""Laws of reading and cutting, on any text there is."""

import unicodedata
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from facetvec.config import CorpusConfig
from facetvec.examples.pieces import PieceMaker
from facetvec.text.blocks import Block, Skipped, read_blocks
from facetvec.text.documents import paragraphs
from facetvec.text.sources import Source
from facetvec.vocabulary.counts import encode_words
from facetvec.vocabulary.rules import is_compound, lower, normalize, word_pattern
from facetvec.vocabulary.tokenizer import SPECIAL_WORDS, build_tokenizer

# Letters that newer releases of Unicode add are left out: the two engines may know different ones.
ASSIGNED = st.characters(exclude_categories=("Cs", "Cn", "Co"))
TRICKY = st.sampled_from(
    list("aZß.,'’-–/… \u00a0\u00ad\u0301\u200b\u200c\u200d👍🏽🇩🇪1٣²ΣςİǅⓐⅣक्षיִم\x00\x1c\x85\u2028\ufeff<>@")
)
TEXT = st.text(TRICKY | ASSIGNED, max_size=60) | st.lists(
    st.sampled_from(
        ["don't", "x-ray", "U.S.", "1,234.5", "http://a.b/c-d", "www.", "o'", "'s", "km/h", "-", " ", "é", "İ."]
    )
).map("".join)


@given(TEXT, st.booleans(), st.lists(TEXT, max_size=3))
def test_both_engines_cut_any_text_alike(text: str, lowers: bool, others: list[str]) -> None:  # noqa: FBT001
    def cut(text: str) -> list[str]:
        normal = normalize(text.replace("\n", " "))
        return word_pattern().findall(lower(normal) if lowers else normal)

    known = sorted({word for other in (text, *others) for word in cut(other)[::2] if word not in SPECIAL_WORDS})
    ids = {word: number for number, word in enumerate(known, len(SPECIAL_WORDS))}
    ours, _ = encode_words(cut(text), ids)
    tokenizer = build_tokenizer(known, lower=lowers, pretokenized=False)
    assert tokenizer.encode(text.replace("\n", " "), add_special_tokens=False).ids == ours.tolist()


@given(
    TEXT | st.lists(st.sampled_from(["<eos>", "<PAD>", "<unk>", "a<eos>", "<eos>b", "x-y", " ", "\t"])).map("".join),
    st.booleans(),
)
def test_both_engines_cut_pretokenized_text_alike(text: str, lowers: bool) -> None:  # noqa: FBT001
    maker = PieceMaker(CorpusConfig(tokens="blanks", segmenter="line", lower=lowers, documents="file"))
    piece = maker.make(Block("a", "text", 1, text.replace("\r", " ").replace("\n", " ").encode()))
    known = [word for word in piece.words[::2] if word not in SPECIAL_WORDS]
    ids = {word: number for number, word in enumerate(known, len(SPECIAL_WORDS))}
    ours, _ = encode_words([piece.words[number] for number in piece.local_ids], ids)
    tokenizer = build_tokenizer(known, lower=lowers, pretokenized=True)
    expected = tokenizer.encode(text.replace("\r", " ").replace("\n", " "), add_special_tokens=False).ids
    assert expected == ours.tolist()


@given(TEXT)
def test_cutting_loses_nothing_that_can_be_seen(text: str) -> None:
    def visible(text: str) -> str:
        return "".join(
            character
            for character in normalize(text)
            if not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf")
        )

    words = word_pattern().findall(normalize(text.replace("\n", " ")))
    assert visible("".join(words)) == visible(text)


@given(TEXT)
def test_compounds_have_no_blank(text: str) -> None:
    assert not any(" " in word for word in word_pattern().findall(text) if is_compound(word))


@given(st.binary(max_size=300), st.sampled_from(["blank", "line", "file"]))
def test_any_bytes_are_read_or_skipped_and_never_crash(tmp_path: Path, content: bytes, boundary: str) -> None:
    path = tmp_path / "any.txt"
    path.write_bytes(content)
    config = CorpusConfig.from_table({"documents": boundary, "on_error": "skip"})
    skipped = Skipped()
    maker = PieceMaker(config)
    for block in read_blocks(Source(path), config, skipped):
        piece = maker.make(block)
        assert piece.lengths.sum() == len(piece.local_ids)
        assert piece.document_sentences.sum() == len(piece.lengths)
        assert np.array_equal(np.bincount(piece.local_ids, minlength=len(piece.words)), piece.counts)


@given(st.lists(TEXT.map(lambda text: text.replace("\r", "").replace("\n", "")), max_size=8))
def test_lines_come_back_as_paragraphs(lines: list[str]) -> None:
    block = Block("a", "text", 1, "".join(f"{line}\n" for line in lines).encode())
    found = list(paragraphs(block, CorpusConfig(documents="file"), Skipped()))
    assert found == (lines or [""])
