import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
import textblob.en
from spacy.training import Example

from facetvec.errors import ConfigError, MissingExtraError
from facetvec.text import phrases
from facetvec.text.phrases import MAX_PHRASE_WORDS, Span, chunk, phrase_finder

nltk: Any = pytest.importorskip("nltk")  # comes with textblob; untyped

TAGS = ["NN", "NNS", "NNP", "NNPS", "JJ", "JJR", "JJS", "DT", "PRP$", "VB", "VBG", "VBN", "VBD", "IN", ",", ".", "CD"]
TAGS += ["POS", "PRP", "RB", "SYM"]
TAGGED_SENTENCES = [
    [("The", "DT"), ("old", "JJ"), ("dog", "NN"), ("sleeps", "VBZ"), (".", ".")],
    [("A", "DT"), ("cat", "NN"), ("sees", "VBZ"), ("green", "JJ"), ("birds", "NNS"), (".", ".")],
    [("They", "PRP"), ("do", "VBP"), ("n't", "RB"), ("sleep", "VB"), (".", ".")],
]


def found(sentence: str, *, tagger: str = "textblob") -> list[str]:
    words = sentence.split()
    return [" ".join(words[start:end]) for start, end in phrase_finder(tagger)([words])[0]]


def reference_chunk(tags: list[str], parser: Any) -> list[Span]:
    spans, place = [], 0
    for node in parser.parse([(str(number), tag) for number, tag in enumerate(tags)]):
        length = len(node) if isinstance(node, nltk.Tree) else 1
        if isinstance(node, nltk.Tree):
            spans.append((place + max(0, length - MAX_PHRASE_WORDS), place + length))
        place += length
    return spans


@pytest.fixture(scope="module")
def pipeline_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tagger on three sentences and save it."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    docs = [spacy.tokens.Doc(nlp.vocab, words=[word for word, _ in tagged]) for tagged in TAGGED_SENTENCES]
    examples = [
        Example.from_dict(doc, {"tags": [tag for _, tag in tagged]})
        for doc, tagged in zip(docs, TAGGED_SENTENCES, strict=True)
    ]
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    path = tmp_path_factory.mktemp("spacy") / "pipeline"
    nlp.to_disk(path)
    return path


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", []),
        ("IN VBD .", []),
        ("NN", [(0, 1)]),
        ("DT JJ JJ NN VBD NNP NNP", [(1, 4), (5, 7)]),
        ("PRP VBZ JJ .", []),
        ("NN POS JJS NN", [(0, 1), (2, 4)]),
        ("NN CD NN", [(0, 1), (2, 3)]),
        ("DT VBG NN", [(1, 3)]),
        ("DT JJ VBN NN", [(1, 4)]),
        ("IN VBG NNS", [(2, 3)]),
        ("NN VBG NN", [(0, 1), (2, 3)]),
        ("DT VBG .", []),
        ("DT VB IN DT VB NN", [(1, 2), (4, 6)]),
        ("PRP$ JJ VB", [(1, 3)]),
        ("NNS VB NN", [(0, 1), (2, 3)]),
    ],
)
def test_the_grammar_finds_adjectives_and_nouns_up_to_the_last_noun(tags: str, spans: list[Span]) -> None:
    assert chunk(tags.split()) == spans


def test_a_long_phrase_keeps_its_last_words() -> None:
    assert chunk(["DT", "JJ", "JJ", *["NN"] * 5, "IN"]) == [(3, 8)]


def test_time_grows_with_the_length_of_the_sentence_alone() -> None:
    assert chunk(["JJ"] * 300_000) == []  # hours, if each adjective looked for its noun


def test_the_grammar_is_the_one_that_the_module_documents() -> None:
    written = re.search(r"^ +NP: .*?\n\n", phrases.__doc__ or "", flags=re.MULTILINE | re.DOTALL)
    assert written is not None
    parser = nltk.RegexpParser(written.group())
    draw = random.Random(1)
    for _ in range(300):
        tags = draw.choices(TAGS, k=draw.randint(1, 14))
        assert chunk(tags) == reference_chunk(tags, parser), tags


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The quick brown fox saw a sleeping dog .", ["quick brown fox", "sleeping dog"]),
        ("She played her final match in the U.S. .", ["final match", "U.S."]),
        ("London 's oldest bridge crosses the river .", ["London", "oldest bridge", "river"]),
        ("He paid 30 € for two 12-string guitars °", ["12-string guitars"]),
        ("We couldn 't walk to church , we can 't .", ["church"]),
        ("They want to support the team and will change trains .", ["team", "trains"]),
    ],
)
def test_textblob_finds_the_noun_phrases(sentence: str, expected: list[str]) -> None:
    assert found(sentence) == expected


def test_tags_are_those_of_textblob_where_no_verb_may_hide() -> None:
    text = """
        Heavy rain and strong winds hit the northern islands during the night
        Investigators questioned the former minister about secret payments
        Zorblax quickly overglazed his unfathomable blicketing
    """
    sentences = [line.split() for line in text.strip().splitlines()]
    expected = [chunk([tag for _, tag in textblob.en.parser.find_tags(words)]) for words in sentences]
    assert phrase_finder("textblob")(sentences) == expected


def test_a_sentence_alone_has_the_phrases_that_it_has_among_others(pipeline_path: Path) -> None:
    sentences = [["The", "old", "dog", "sleeps"], [], ["A", "cat"], ["can", "'t"], ["green", "birds", "."]]
    for tagger in ("textblob", f"spacy:{pipeline_path}"):
        find = phrase_finder(tagger)
        together = find(sentences)
        assert together == [find([words])[0] for words in sentences]
        assert together[1] == []
        assert find([]) == []


def test_a_spacy_pipeline_tags_the_words_as_they_are_cut(pipeline_path: Path) -> None:
    tagger = f"spacy:{pipeline_path}"
    assert found("The old cat sees green dog .", tagger=tagger) == ["old cat", "green dog"]
    assert found("They don 't sleep .", tagger=tagger) == []


def test_an_unknown_tagger_is_a_config_error() -> None:
    for name in ("nltk", "spacy", "spacy:", ""):
        with pytest.raises(ConfigError, match="expected textblob or spacy:NAME"):
            phrase_finder(name)


def test_a_missing_pipeline_is_a_config_error_that_says_how_to_get_it() -> None:
    with pytest.raises(ConfigError, match="python -m spacy download en_core_nowhere"):
        phrase_finder("spacy:en_core_nowhere")


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_pipeline_without_penn_tags_is_a_config_error(tmp_path: Path, language: str) -> None:
    nlp = spacy.blank(language)
    if language == "de":
        tagged = Example.from_dict(spacy.tokens.Doc(nlp.vocab, words=["Haus"]), {"tags": ["NN"]})
        nlp.add_pipe("tagger")
        nlp.initialize(lambda: [tagged])
    nlp.to_disk(tmp_path)
    with pytest.raises(ConfigError, match="expected an English pipeline with a tagger"):
        phrase_finder(f"spacy:{tmp_path}")


@pytest.mark.parametrize(("tagger", "module"), [("textblob", "textblob.en"), ("spacy:x", "spacy")])
def test_a_missing_package_names_the_extra(tagger: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'facetvec\[text\]'"):
        phrase_finder(tagger)
