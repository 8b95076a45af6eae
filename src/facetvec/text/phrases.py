r"""Noun phrases in sentences: the inputs of the phrase model.

In: sentences, each a list of cased words as our tokeniser cuts them. Out: for each sentence the spans of its noun
phrases, in order, without overlap. A tagger gives each word a Penn Treebank tag; a grammar over the tags finds the
phrases. In the notation of NLTK's RegexpParser it reads

    NP: <DT|PRP\$>{<VB|VBG|VBN>(<NN.*>|<JJ.*><VB|VBG|VBN>?)*(<NN.*>|<JJ.*><VB>)}
        <DT|PRP\$>{<VB>}
        {(<NN.*>|<JJ.*><VB|VBG|VBN>?)*(<NN.*>|<JJ.*><VB>)}

that is, adjectives and nouns up to the last noun, a single noun too. Right after a determiner or an adjective a
participle is an adjective ("the growing population"), elsewhere mostly a verb ("after winning games"); and there a base
form is a noun that the tagger took for a verb ("the match", "his first win"). Determiners, pronouns, numbers and the
possessive 's end a phrase: "the world 's oldest city" holds "world" and "oldest city", each with its own surroundings.
The head stands last, so a longer phrase keeps its last words.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

from facetvec.errors import ConfigError
from facetvec.files import import_extra

Span = tuple[int, int]  # the first word, one past the last
PhraseFinder = Callable[[Sequence[Sequence[str]]], list[list[Span]]]

MAX_PHRASE_WORDS = 5


def phrase_finder(tagger: str) -> PhraseFinder:
    """Build the finder whose tagger is `textblob` or `spacy:NAME`, an installed English pipeline or the path of one."""
    tag = _tagger(tagger)

    def find(sentences: Sequence[Sequence[str]]) -> list[list[Span]]:
        tagged = tag([_penn_words(words) for words in sentences])
        return [chunk(_without_symbols(words, tags)) for words, tags in zip(sentences, tagged, strict=True)]

    return find


def chunk(tags: Sequence[str]) -> list[Span]:
    """Find the noun phrases of a sentence from the Penn tags of its words."""
    letters = "".join([_LETTERS.get(tag, ".") for tag in tags])
    spans = []
    for run in _RUN.finditer(letters):
        start = run.start()
        end = start + len(run.group().rstrip("JV"))  # a phrase ends in a noun
        if end > start:
            spans.append((max(start, end - MAX_PHRASE_WORDS), end))
    return spans


# The grammar, one letter a tag: Noun, adJective, Determiner, Base form, participle (V).
_LETTERS = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "N"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "J"),
    **dict.fromkeys(("DT", "PRP$"), "D"),
    **dict.fromkeys(("VBG", "VBN"), "V"),
    "VB": "B",
}
_RUN = re.compile("(?:[JN]|(?<=[DJ])[BV])+")
_LETTER = re.compile(r"[^\W\d_]")

_Tagger = Callable[[list[list[str]]], list[list[str]]]

_UNUSED_PIPES = ("parser", "senter", "ner", "entity_linker", "lemmatizer", "morphologizer", "textcat")


def _tagger(name: str) -> _Tagger:
    kind, _, pipeline = name.partition(":")
    if name == "textblob":
        return _textblob_tagger()
    if kind == "spacy" and pipeline:
        return _spacy_tagger(pipeline)
    raise ConfigError(f"unknown tagger {name!r}: expected textblob or spacy:NAME, such as spacy:en_core_web_sm")


def _penn_words(words: Sequence[str]) -> list[str]:
    """Cut contractions as the treebank does: `don` `'t` becomes `do` `n't`, `can` `'t` becomes `ca` `n't`."""
    words = list(words)
    if "'t" in words:
        for i, (word, following) in enumerate(pairwise(words)):
            if following == "'t" and word.endswith("n"):
                words[i : i + 2] = word[:-1], "n't"
    return words


def _without_symbols(words: Sequence[str], tags: list[str]) -> list[str]:
    """Return the tags with those of words without a letter replaced: taggers take ° and · for nouns."""
    return [tag if word.isalpha() or _LETTER.search(word) else "SYM" for word, tag in zip(words, tags, strict=True)]


def _textblob_tagger() -> _Tagger:
    textblob = import_extra("textblob.en", extra="text", purpose="finding noun phrases")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # TextBlob leaves the file for Python to close
        textblob.lexicon.get("the")  # reads the lexicon
    return lambda sentences: [_textblob_tags(textblob, words) for words in sentences]


def _textblob_tags(textblob: ModuleType, words: list[str]) -> list[str]:
    """Tag as TextBlob does, word by word, but for nouns that may be verbs after `to` or a modal: "to contest"."""
    tags = [tag for _, tag in textblob.parser.find_tags(words)]
    for i, (before, tag) in enumerate(pairwise(tags), start=1):
        if tag == "NN" and before in ("TO", "MD") and _may_be_verb(words[i], textblob.lexicon):
            tags[i] = "VB"
    return tags


def _may_be_verb(word: str, lexicon: dict[str, str]) -> bool:
    """Tell whether the lexicon knows a form of the word in -ed or -ing."""
    stem = word.removesuffix("e")
    forms = (stem + "ed", stem + "ing", word.removesuffix("y") + "ied", word + word[-1] + "ed")
    return any(lexicon.get(form, "").startswith("VB") for form in forms)


def _spacy_tagger(pipeline: str) -> _Tagger:
    spacy: Any = import_extra("spacy", extra="text", purpose="finding noun phrases")
    try:
        nlp = spacy.load(pipeline, exclude=_UNUSED_PIPES)
    except OSError as error:
        raise ConfigError(
            f"spaCy has no pipeline {pipeline!r}: `python -m spacy download {pipeline}` or pip brings one; "
            "a path to a saved pipeline does too"
        ) from error
    if nlp.lang != "en" or "tagger" not in nlp.pipe_names:
        raise ConfigError(
            f"expected an English pipeline with a tagger, found {pipeline!r} of language {nlp.lang!r} "
            f"with {', '.join(nlp.pipe_names) or 'nothing'}"
        )

    def tag(sentences: list[list[str]]) -> list[list[str]]:
        with nlp.memory_zone():  # forgets the words again, or memory grows with the corpus
            docs = nlp.pipe(spacy.tokens.Doc(nlp.vocab, words=words) for words in sentences)
            return [[token.tag_ for token in doc] for doc in docs]

    return tag
