r"""The rules by which text is cut into words, written once for two engines.

In: text. Out: words. Python's `re` applies the rules to megabytes when a corpus is prepared; Hugging Face `tokenizers`
applies the same ones from `tokenizer.json` when a model is used. A property test holds the two equal on any text.

The text is brought to Unicode's NFC form, quotes, dashes and ellipses to their ASCII forms, soft hyphens fall away and,
unless case is kept, letters become lower-case. Then, tried in this order:

    address       http://…, https://… or www.… up to a blank; never cut further           http://a.org/b-c
    number        digits with inner points or commas                                      1,234.5   3.14
    abbreviation  two or more single letters, each with its point                         u.s.   e.g.
    contraction   's 't 'd 'm 'll 've 're, cut off the word before                        don 't   it 's
    word          letters, digits and marks; a *compound* joins several by - / '          x-ray   km/h   o'brien
    emoji         with its modifiers and joiners; two regional letters are one flag
    symbol        any other visible character, alone                                      ( % €

Blanks and control characters only separate. A compound that the vocabulary does not know falls back to its parts.
"""

import re
import unicodedata
from functools import cache

# Mapped before cutting; on the left a set of characters, on the right what stands for each.
REPLACEMENTS = (
    ("‘’ʼ‛′", "'"),
    ("“”„‟″", '"'),
    ("‐‑−", "-"),
    ("‒–—―", " - "),
    ("…", "..."),
    ("\u00ad", ""),
)

# In the templates {word}, {letter}, {digit} and {mark} stand for what each engine calls them.
_CONTROL = "\\x00-\\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_VISIBLE = rf"[^\s{_CONTROL}]"
_JOINER_AND_TONES = "\u200c\u200d\U0001f3fb-\U0001f3ff"
_ADDRESS = r"(?:[hH][tT][tT][pP][sS]?://|[wW][wW][wW]\.)"
_ENDING = "(?:[sStTdDmM]|[lL][lL]|[vV][eE]|[rR][eE])(?!{word})"
_SIMPLE_WORD = "{word}+(?:{mark}+{word}*)*"
_SHORTCUTS = r"\w++(?=[ \n])|\n|[.,](?=[ \n])"  # what the rules give as well; tried first, it doubles the speed
_TEMPLATES = (
    _ADDRESS + _VISIBLE + "*(?:{word}|/)",
    "{digit}+(?:[.,]{digit}+)+",
    r"(?:{letter}\.)(?:{letter}\.)+",
    "'" + _ENDING,
    f"{_SIMPLE_WORD}(?:[-/'](?!(?<='){_ENDING}){_SIMPLE_WORD})*",
    "[\U0001f1e6-\U0001f1ff][\U0001f1e6-\U0001f1ff]",
    f"{_VISIBLE}{{mark}}*(?:(?<=\u200d){_VISIBLE}{{mark}}*)*",
)
_ONIGURUMA = {
    "word": r"[\p{L}\p{N}_]",
    "letter": r"[\p{L}\p{Nl}\p{No}]",
    "digit": r"\p{Nd}",
    "mark": rf"[\p{{M}}{_JOINER_AND_TONES}]",
}


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the rules for Python's `re`, where a line break is a match too: it marks the end of a sentence."""
    marks = f"[{_mark_ranges()}{_JOINER_AND_TONES}]"
    names = {"word": r"\w", "letter": r"[^\W\d_]", "digit": r"\d", "mark": marks}
    return re.compile(f"{_SHORTCUTS}|{_alternatives(names)}")


def oniguruma_pattern() -> str:
    """Return the rules for the regular expressions of Hugging Face `tokenizers`."""
    return _alternatives(_ONIGURUMA)


def between_blanks(blanks: str) -> str:
    """Return the rule for words that stand between blanks; `<pad>` and `<eos>` are cut: no text can spell them."""
    return rf"<(?=(?:pad|eos)>(?:[{blanks}]|$))|[^{blanks}]+"


def normalize(text: str) -> str:
    """Bring text to the form that is cut into words, but for its case."""
    text = unicodedata.normalize("NFC", text)
    for characters, replacement in REPLACEMENTS:
        for character in characters:
            text = text.replace(character, replacement)
    return text


def lower(text: str) -> str:
    """Lower-case text letter by letter: a capital sigma becomes σ wherever it stands, as in `tokenizers`."""
    return text.replace("Σ", "σ").lower()


def is_compound(word: str) -> bool:
    """Tell whether a word falls back to its parts where it is unknown: it holds a joiner and is no address."""
    return ("-" in word or "/" in word or "'" in word) and not _IS_ADDRESS.match(word)


def parts(compound: str) -> list[str]:
    """Cut a compound at its joiners, which are parts themselves: `km/h` is `km`, `/`, `h`."""
    return [part for part in _JOINER.split(compound) if part]


_JOINER = re.compile("([-/'])")
_IS_ADDRESS = re.compile(_ADDRESS)


def compound_pattern(known: list[str]) -> str:
    """Return the rule, for `tokenizers`, that keeps known compounds and addresses and cuts all other compounds.

    It sees one word at a time. Known compounds are grouped by first character, so that few are tried.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(known):
        groups.setdefault(word[0], []).append(_escape(word[1:]))
    alternatives = "|".join(f"{_escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())
    whole = rf"\A(?=[^-/']*[-/'])(?:{alternatives})\z|" if known else ""
    return rf"\A{_ADDRESS}.*\z|{whole}[-/']|[^-/']+"


def _escape(text: str) -> str:
    return re.sub(r"([\\^$.|?*+()\[\]{}#&~-])", r"\\\1", text)


def _alternatives(names: dict[str, str]) -> str:
    return "|".join(template.format_map(names) for template in _TEMPLATES)


def _mark_ranges() -> str:
    """Return Unicode's combining marks as the inside of a character class: `re` has no name for them."""
    ranges: list[list[int]] = []
    for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
