"""From a paragraph to its sentences.

In: one paragraph, a string without line breaks. Out: its sentences, in order, stripped, none empty; joined with blanks
they hold every character of the paragraph that is not blank.

`fast`, the default, looks only where a sentence may end: at a stop, with quotes and brackets that close after it, then
a blank, then something that may open a sentence (a capital, a digit, a letter of a script without capitals). East Asian
stops need no blank. The word before the stop decides there: titles and numbers of a list never end a sentence;
initials and abbreviations that can end one do so if the next word often opens one ("the U.S. The" against "the U.S.
Navy"). Each stop is looked at once, with a bounded stretch before it: time grows with the length of any text.
`spacy` is the tokeniser and the sentencizer of spaCy's blank English pipeline, which the `paper` profile uses; `line`
takes each paragraph for a sentence.
"""

import re
from collections.abc import Callable

from facetvec.errors import ConfigError
from facetvec.files import import_extra

Segmenter = Callable[[str], list[str]]


def segmenter(name: str) -> Segmenter:
    """Build the segmenter of this name; a worker process builds its own."""
    builders: dict[str, Callable[[], Segmenter]] = {
        "fast": lambda: _split,
        "spacy": _spacy_sentencizer,
        "line": lambda: _whole_line,
    }
    if name not in builders:
        raise ConfigError(f"unknown segmenter {name!r}: expected one of {', '.join(builders)}")
    return builders[name]()


# Never the last word of a sentence.
_NEVER_LAST = frozenset(
    """
    Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Revd Fr Rt Hon Gov Sen Rep Pres Mt Ft
    Gen Lt Col Maj Capt Cpt Cmdr Cdr Adm Sgt Cpl Pvt Brig
    vs v e.g i.e eg cf Cf viz ca approx feat incl esp lit
    """.split()
)
# Not the last word before a number: "No. 5", "pp. 12", "Sept. 11".
_NUMBERED = frozenset(
    """
    no nos nr p pp pg ll fig figs vol vols ch chap sec sect eq eqs art op ver par para ed col pt ex mk
    jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
)
# The last word only if the next one often opens a sentence: "at Acme Inc. The" against "at Acme Inc. Chairman".
_SELDOM_LAST = frozenset(
    "St Ste Pt Jr Sr Inc Ltd Co Corp Bros Mts Ave Blvd Rd Univ Dept Vol Op al sp spp Yahoo! Jeopardy!".split()
)
_OPENING_WORDS = frozenset(
    """
    The A An This That These Those There Here It He She They We You I His Her Its Their Our My
    In On At By For From To With Of As After Before During Since Until Under Upon Following Despite Unlike Among
    Although Though However Because If When While Where What Who Why How But And Or So Then Thus Therefore Also
    Some Many Most Several Other Others Another Both Each All One Two Three Such No Not Only Even
    Later Today Now According Instead Eventually Finally Additionally Currently
    """.split()
)

_UNITS = frozenset("m g s l h d b K V A W L N".split())  # the last word only after a number: "914 m. Most"

_OPENING = "\"'“‘„«»‹¿¡(\\[{"
_CLOSING = "\"'”’“»«›)\\]}"
# A stop with what closes after it. East Asian stops need no more; others need a blank (marks of footnotes, "[3]" or
# ":12-14", may come before) and must not go on with a small letter, punctuation or a year in brackets.
_CANDIDATE = re.compile(
    rf"""[.!?…‽؟۔।॥։።။។。！？｡．]
    (?: (?<=[。！？｡．]) (?! [。！？｡．] | [」』]+と ) [」』）】〉》”’]*+ \s*+
      | [{_CLOSING}]*+ (?:\s»(?=\s))?+ (?:\[\d{{1,3}}\]|:\d[\d–-]*+)*+ \s++
        (?! [{_OPENING}]*+ (?:[a-z](?![A-Z])|[,;:!?)\]] | \.(?!\.\.\w)) | \(\d{{4}} )
    )""",
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"(\(|°|\d )?['’]?([\w.'’/-]*+)\Z")
_WORD_AFTER = re.compile(rf"(?:[-–—•*]\s?)?[{_OPENING}]*+((\w?)\w{{0,15}})")
# "J", "U.S", "J.-P", "ex-U.S", "Ph.D"
_INITIALS = re.compile(r"(?:\w+-)?(?:(?:[^\W\d_]{1,2}\.-?)+[^\W\d_]{1,2}|[^\W\d_])")


def _whole_line(paragraph: str) -> list[str]:
    sentence = paragraph.strip()
    return [sentence] if sentence else []


def _split(paragraph: str) -> list[str]:
    text = paragraph.strip()
    sentences = []
    start = 0
    for found in _CANDIDATE.finditer(text):
        if _is_end(text, start=start, stop=found.start(), next_start=found.end()):
            sentences.append(text[start : found.end()].rstrip())
            start = found.end()
    return [*sentences, text[start:]] if start < len(text) else sentences


def _is_end(text: str, *, start: int, stop: int, next_start: int) -> bool:
    """Tell whether the sentence that begins at `start` ends with the stop at `stop`."""
    after = _WORD_AFTER.match(text, next_start)
    assert after is not None  # it matches the empty word too
    if after[2].islower() and after[1].islower():
        return False
    if stop - start > 7 and text[stop - 7 : stop].isalpha():
        return True  # an ordinary word; no abbreviation of ours is as long
    before = _WORD_BEFORE.search(text, max(start, stop - 16), stop)
    assert before is not None  # so does this one
    mark, word = before.groups()
    if text[stop] != ".":
        word += text[stop]
    is_list_number = word.isdecimal() and (
        before.start(2) == start or text[before.start(2) - 2 : before.start(2)] == "; "
    )
    if is_list_number or word in _NEVER_LAST:
        return False
    is_in_bracket = mark == "(" and text[stop : stop + 2] == ". "  # "(lit. Big House)"
    is_doubtful = is_in_bracket or word in _SELDOM_LAST or _INITIALS.fullmatch(word) is not None
    follows = text[after.end() : after.end() + 1]
    if after[2].isdigit():
        return not is_doubtful and word.lower() not in _NUMBERED and follows != ":"
    is_unit = mark == "°" or (mark is not None and mark != "(" and word in _UNITS)
    return is_unit or not is_doubtful or (after[1] in _OPENING_WORDS and follows != ".")


def _spacy_sentencizer() -> Segmenter:
    spacy = import_extra("spacy", extra="text", purpose="the segmenter 'spacy'")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 1 << 40  # its own bound, a million characters, guards parsers that need much memory

    def split(paragraph: str) -> list[str]:
        # Its time grows with the square of a run of marks without a blank ("......"): such runs are cut.
        text = re.sub(r"\S{1000}", r"\g<0> ", paragraph)
        sentences = [sentence.text.strip() for sentence in pipeline(text).sents]
        return [sentence for sentence in sentences if sentence]

    return split
