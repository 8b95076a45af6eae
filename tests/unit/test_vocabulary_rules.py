import pytest

from facetvec.vocabulary.rules import is_compound, lower, normalize, parts, word_pattern


def words(text: str) -> list[str]:
    return word_pattern().findall(lower(normalize(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # addresses
        (
            "See http://a.org/b-c?d=1#e, or www.x-y.com.",
            ["see", "http://a.org/b-c?d=1#e", ",", "or", "www.x-y.com", "."],
        ),
        ("HTTPS://A.ORG/ WWW rules", ["https://a.org/", "www", "rules"]),
        # numbers
        ("1,234.5 and 3.14, 1990s, 5.", ["1,234.5", "and", "3.14", ",", "1990s", ",", "5", "."]),
        ("3.5mm 1/2 10:30", ["3.5", "mm", "1/2", "10", ":", "30"]),
        # abbreviations
        ("the U.S. and e.g. J.R.R. Smith", ["the", "u.s.", "and", "e.g.", "j.r.r.", "smith"]),
        ("J. Smith sat. I. am.", ["j", ".", "smith", "sat", ".", "i", ".", "am", "."]),
        # contractions
        ("Don't, it's, we're, I'd", ["don", "'t", ",", "it", "'s", ",", "we", "'re", ",", "i", "'d"]),
        ("they’ll They've I'm", ["they", "'ll", "they", "'ve", "i", "'m"]),
        ("DON'T X-RAY'S", ["don", "'t", "x-ray", "'s"]),
        ("the dogs' tails 'quoted'", ["the", "dogs", "'", "tails", "'", "quoted", "'"]),
        # compounds
        ("well-known x-ray km/h O'Brien rock'n'roll", ["well-known", "x-ray", "km/h", "o'brien", "rock'n'roll"]),
        ("non‑breaking hyphen", ["non-breaking", "hyphen"]),
        ("1990–95 stop—go a--b -x", ["1990", "-", "95", "stop", "-", "go", "a", "-", "-", "b", "-", "x"]),
        # symbols, quotes, blanks, controls
        ("“So”… (yes)", ['"', "so", '"', ".", ".", ".", "(", "yes", ")"]),
        ("a\u00a0b\u2009c\td\x07e\u200bf", ["a", "b", "c", "d", "e", "f"]),
        ("exam\u00adple <eos> <unk>", ["example", "<", "eos", ">", "<", "unk", ">"]),
        # emoji
        ("hi 👍🏽👨‍👩‍👧 🇩🇪🇫🇷 ❤️!", ["hi", "👍🏽", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "❤️", "!"]),
        # scripts that write blanks
        ("Wo\u0308rter grüßen", ["wörter", "grüßen"]),
        ("Η Οδύσσεια, ΟΔΟΣ", ["η", "οδύσσεια", ",", "οδοσ"]),
        ("Мама мыла раму.", ["мама", "мыла", "раму", "."]),
        ("हिन्दी में लिखा।", ["हिन्दी", "में", "लिखा", "।"]),
        ("كتابٌ جميلٌ؟", ["كتابٌ", "جميلٌ", "؟"]),
        ("می‌خواهم بروم", ["می‌خواهم", "بروم"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("", []),
        (" \t\r", []),
    ],
)
def test_text_is_cut_by_the_written_rules(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_case_can_be_kept() -> None:
    assert word_pattern().findall(normalize("Don'T X-Ray U.S. WWW.A.ORG")) == [
        "Don",
        "'T",
        "X-Ray",
        "U.S.",
        "WWW.A.ORG",
    ]


def test_a_line_break_is_a_word_of_its_own() -> None:
    assert word_pattern().findall("one two\nthree\n\n") == ["one", "two", "\n", "three", "\n", "\n"]


def test_compounds_fall_into_their_parts_and_addresses_do_not() -> None:
    assert parts("km/h") == ["km", "/", "h"]
    assert parts("o'brien-smith") == ["o", "'", "brien", "-", "smith"]
    assert is_compound("x-ray")
    assert not is_compound("xray")
    assert not is_compound("http://a.org/b-c")


def test_a_long_text_without_blanks_is_cut_in_linear_time() -> None:
    for text in ("a" * 1_000_000, "a-" * 500_000, "." * 1_000_000, "1," * 500_000, "a." * 500_000, "www." * 250_000):
        assert "".join(words(text)) == text
