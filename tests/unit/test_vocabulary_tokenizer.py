import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from facetvec.errors import InputError
from facetvec.vocabulary.tokenizer import (
    EOS_ID,
    PAD_ID,
    SPECIAL_WORDS,
    UNK_ID,
    build_tokenizer,
    is_stop_word,
    load_tokenizer,
    stop_words,
    words_of,
)

WORDS = ["the", "x-ray", "x", "-", "ray", "don", "'t", "km/h", "km", "/", "h"]


def tokens(text: str, *, lower: bool = True, pretokenized: bool = False) -> list[str]:
    tokenizer = build_tokenizer(WORDS, lower=lower, pretokenized=pretokenized)
    return tokenizer.encode(text, add_special_tokens=False).tokens


def test_special_words_come_first_and_the_words_in_their_order() -> None:
    tokenizer = build_tokenizer(WORDS, lower=True, pretokenized=False)
    assert words_of(tokenizer) == [*SPECIAL_WORDS, *WORDS]
    assert [tokenizer.token_to_id(word) for word in SPECIAL_WORDS] == [PAD_ID, UNK_ID, EOS_ID]


def test_an_encoded_text_ends_in_eos() -> None:
    assert build_tokenizer(WORDS, lower=True, pretokenized=False).encode("The x").ids == [3, 5, EOS_ID]


def test_a_known_compound_stays_whole_and_an_unknown_one_falls_back_to_its_parts() -> None:
    assert tokens("X-ray km/h") == ["x-ray", "km/h"]
    assert tokens("x-km ray/h x-x-ray") == ["x", "-", "km", "ray", "/", "h", "x", "-", "x", "-", "ray"]
    assert tokens("x-unheard") == ["x", "-", "<unk>"]


def test_an_address_is_one_unknown_word() -> None:
    assert tokens("http://x-ray.org/x/km") == ["<unk>"]


def test_no_text_can_spell_a_special_word() -> None:
    assert tokens("<eos> <pad> <unk>") == ["<unk>"] * 9


def test_offsets_lead_back_to_the_users_own_text() -> None:
    text = "The “X-ray” don’t\u00ad!"
    encoding = build_tokenizer(WORDS, lower=True, pretokenized=False).encode(text, add_special_tokens=False)
    assert [text[start:end] for start, end in encoding.offsets] == ["The", "“", "X-ray", "”", "don", "’t", "!"]


def test_pretokenized_text_is_cut_at_blanks_alone() -> None:
    found = tokens("Don't x-ray (x) x-h", pretokenized=True)
    assert found == ["don", "<unk>", "<unk>", "x-ray", "<unk>", "x", "-", "h"]


def test_no_pretokenized_text_can_spell_padding_or_the_end() -> None:
    assert tokens("x <eos> <pad> <unk>", pretokenized=True) == ["x", *["<unk>"] * 5]


def test_case_is_kept_when_asked() -> None:
    assert tokens("the The", lower=False) == ["the", "<unk>"]


def test_a_tokenizer_comes_back_from_its_file_and_works_with_tokenizers_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer = build_tokenizer(WORDS, lower=True, pretokenized=False)
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    text = "The x-ray, don't x-h 100 km/h"
    assert Tokenizer.from_file(str(path)).encode(text).ids == tokenizer.encode(text).ids
    assert load_tokenizer(path).to_str() == tokenizer.to_str()


@pytest.mark.parametrize("content", [b"{}", b"not json", b"\xff\xff", None])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.json: "):
        load_tokenizer(path)


def test_a_tokenizer_without_our_special_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    saved = json.loads(build_tokenizer(WORDS, lower=True, pretokenized=False).to_str())
    saved["model"]["vocab"]["[PAD]"] = saved["model"]["vocab"].pop("<pad>")
    path.write_text(json.dumps(saved))
    with pytest.raises(InputError, match=r"expected the words \['<pad>', '<unk>', '<eos>'\] at the ids 0, 1, 2"):
        load_tokenizer(path)


def test_the_stop_list_is_that_of_the_method() -> None:
    words = stop_words()
    assert len(words) == 182
    assert {"the", "'s", "disambiguation", "@-@", ",", "<unk>", "yourselves"} <= words
    assert not {"roses", "one", "%", "n't"} & words


def test_stop_words_are_stop_words_in_any_case() -> None:
    assert is_stop_word(["<pad>", "The", "THE", "roses", "<eos>", "I"]).tolist() == [
        True,
        True,
        True,
        False,
        True,
        True,
    ]
