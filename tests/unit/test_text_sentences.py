"""Sentences: `¦` marks where one ends and the next begins."""

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetvec.errors import ConfigError, MissingExtraError
from facetvec.text.sentences import segmenter

PASSAGES = {
    "plain": "The ferry was full. ¦ We took the next one! ¦ Was it late?",
    "marks in a row": "You did what?! ¦ Never again!!!",
    "titles": "Dr. Okoro and 'Mrs. Vane' met Gen. Pike. ¦ St. Brannoc's was closed.",
    "initials": "A map by T. A. Wexley hung there. ¦ J.-P. Morel drew it. ¦ Then E. Stone bought it.",
    "abbreviations": "Bring tools, e.g. Swedish saws, i.e. Bahco ones, vs. Those of last year (cf. Annex).",
    "abbreviation in brackets": "The farm (syn. Red Hill) is old. ¦ The barn (b. 1820) is older.",
    "whole sentence in brackets": "(Rain.) ¦ Mayor Lund rose. ¦ (It was noon.)",
    "numbered things": "See No. 5, Fig. 3 and pp. 12 to 14. ¦ It opened on Sept. 3 in Mk. 2 form.",
    "no as an answer": "He said no. ¦ Nobody asked again.",
    "country": "The U.S. Navy left. ¦ It sailed to the U.S. ¦ The ex-U.S. Consul stayed.",
    "company": "Orrin Ltd. Director May Voss quit. ¦ She left Orrin Ltd. ¦ The shares fell.",
    "and so on": "They sold nails, glue, etc. and rope. ¦ Then came paint, brushes, etc. ¦ Business grew.",
    "time of day": "It shuts at 5 p.m. on Fridays. ¦ We came at 4 p.m. ¦ The door was open.",
    "decimals": "It rose 3.5% to 12.25. ¦ Version 2.1.0 is out. ¦ The average was .500. ¦ Fans cheered.",
    "digit opens": "The strike ended in May. ¦ 300 men returned. ¦ 5th Street reopened.",
    "list": "1. The flour goes in. ¦ 2. Add two eggs.",
    "list in a sentence": "2. The ball is round; 3. The game is long.",
    "verse": "It is told in 1 Kgs. 15:3 and after.",
    "unit": "It melts at 80 °C. ¦ Wax melts sooner. ¦ The dam is 40 m. ¦ Floods top it.",
    "capital letter as a word": "She lacked vitamin D. ¦ The sun helped.",
    "quotes": "“Come in,” he said. ¦ “Sit down.” ¦ She sat. ¦ 'Tea?' asked Ann.",
    "question in a sentence": 'Asked "Who is it?" she froze. ¦ "Me!" said a voice.',
    "year after a title": 'His play "Who Knows?" (1931) failed. ¦ He went home.',
    "name with a mark": "Yahoo! Inc. moved. ¦ He left Yahoo! ¦ The rest stayed.",
    "ellipsis": "He waited... and slept. ¦ At dawn ... ¦ The phone rang… ¦ Silence.",
    "ellipsis opens": 'The record sold well. ¦ "...Or Else" came next.',
    "small and large": "We use iPhones. ¦ iOS is new. ¦ eBay sold them.",
    "footnotes": "The wall fell.[3] ¦ It was rebuilt.[4][12] ¦ A gate was added.:12–14 ¦ It stands.",
    "addresses": "See https://example.org/a.b?c=D.E for more. ¦ Write to a.b@example.org. ¦ Thanks.",
    "no blank after the stop": "The end.Next comes more. ¦ Good.",
    "dash opens": "The hall was dark. ¦ – Lights? – he asked. ¦ – None.",
    "heading": "Early life and education",
    "French": "Il partit. ¦ « Où ? » dit-elle. ¦ « Là-bas ! » ¦ Émile se tut.",
    "Spanish": "¿Quién es? ¦ ¡Soy yo! ¦ Ábreme.",
    "Russian": "Снег шёл. ¦ Мы ждали. ¦ «Идём!» сказал он.",
    "Chinese": "天亮了！！¦他起床。¦“几点了？”¦没人回答",
    "Japanese": "「行こう。」と父は言った。¦雨がやんだ。",
    "Hindi": "सूरज निकला। ¦ पक्षी गाने लगे।",
    "Arabic": "أين الكتاب؟ ¦ على الطاولة. ¦ شكرا.",
    "Hebrew": "השמש שקעה. ¦ הלכנו לישון.",
    "emoji and combining marks": "Done 🎉! ¦ E\u0301lan is back. ¦ 👍🏽 all round.",
}


SPACY = segmenter("spacy")


def assert_holds_all(sentences: list[str], paragraph: str) -> None:
    assert "".join("".join(sentences).split()) == "".join(paragraph.split())
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


@pytest.mark.parametrize("marked", PASSAGES.values(), ids=PASSAGES.keys())
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    expected = [sentence.strip() for sentence in marked.split("¦")]
    assert segmenter("fast")(marked.replace("¦ ", "").replace("¦", "")) == expected


@pytest.mark.parametrize("name", ["fast", "spacy"])
@pytest.mark.parametrize("blank", ["", " ", " \t\u00a0\u3000 "])
def test_text_without_a_letter_has_no_sentence(name: str, blank: str) -> None:
    assert segmenter(name)(blank) == []


@given(
    st.text(alphabet=st.sampled_from("aB1 .!?…。」'\"”([)]:;-–«»°\u0301\u00a0\u2003ßДا؟।🎉"), max_size=60) | st.text()
)
def test_sentences_hold_every_character_in_order(paragraph: str) -> None:
    assert_holds_all(segmenter("fast")(paragraph), paragraph)


@given(st.text(alphabet="aB1 .!?'\"([)]\u00a0é🎉", max_size=60))
def test_spacy_sentences_hold_every_character_in_order(paragraph: str) -> None:
    assert_holds_all(SPACY(paragraph), paragraph)


@pytest.mark.parametrize("unit", ["a", " ", ".", ". ", "A. ", '."', ". (", "。」", ".:1-", ". \u00a0", "; 1. ", "a.b"])
def test_time_grows_with_the_length_whatever_the_text(unit: str) -> None:
    start = time.process_time()
    segmenter("fast")(unit * (1_000_000 // len(unit)))
    assert time.process_time() - start < 10  # about a second at most; where time grows with the square, hours


def test_spacy_ends_sentences_at_tokens_that_are_stops() -> None:
    assert SPACY("Dr. Lind left. No. 5 was J. Doe's.") == ["Dr. Lind left.", "No.", "5 was J. Doe's."]


def test_spacy_gets_through_a_long_run_of_marks() -> None:
    paragraph = "'" * 5000 + " It went on. So did we."
    sentences = SPACY(paragraph)
    assert sentences[-1] == "So did we."
    assert_holds_all(sentences, paragraph)


def test_unknown_segmenter_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"unknown segmenter 'slow': expected one of fast, spacy"):
        segmenter("slow")


def test_missing_spacy_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'facetvec\[text\]'"):
        segmenter("spacy")
