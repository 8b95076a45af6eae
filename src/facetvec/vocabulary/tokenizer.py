"""A vocabulary of words with ids, as a Hugging Face tokenizer that `tokenizer.json` holds whole.

In: words in the order of their ids. Out: a `tokenizers.Tokenizer` whose ids for a text are those of the store.
`<pad>` is 0, `<unk>` 1, `<eos>` 2; words follow, the most frequent first. The special ones are ordinary entries that no
text can spell: the rules cut `<eos>` into `<`, `eos`, `>`.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from facetvec.errors import InputError
from facetvec.vocabulary import rules

PAD, UNK, EOS = "<pad>", "<unk>", "<eos>"
SPECIAL_WORDS = (PAD, UNK, EOS)
PAD_ID, UNK_ID, EOS_ID = range(3)
FIRST_WORD_ID = len(SPECIAL_WORDS)

_BLANKS = r"\s\x1c-\x1f"


def build_tokenizer(words: Sequence[str], *, lower: bool, pretokenized: bool) -> Tokenizer:
    """Make the tokenizer of a vocabulary.

    `words` are the words after the special ones; `pretokenized` takes whatever stands between blanks as a word.
    `encode(text)` ends in `<eos>`; `encode(text, add_special_tokens=False)` gives the ids of the text alone.
    """
    vocabulary = {word: number for number, word in enumerate((*SPECIAL_WORDS, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNK))
    tokenizer.normalizer = _normalizer(lower=lower, pretokenized=pretokenized)
    pattern = rules.between_blanks(_BLANKS) if pretokenized else rules.oniguruma_pattern()
    known = [word for word in words if rules.is_compound(word)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "removed", invert=True),
            pre_tokenizers.Split(Regex(rules.compound_pattern(known)), "removed", invert=True),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {EOS}", special_tokens=[(EOS, EOS_ID)])
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer from `tokenizer.json`, of ours or with the same special words at the same ids."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except UnicodeDecodeError:
        raise InputError("expected a tokenizer.json, found bytes that are not UTF-8", path=path) from None
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # `tokenizers` raises no narrower one
        raise InputError(f"not a tokenizer.json that `tokenizers` can read ({error})", path=path) from error
    found = [tokenizer.id_to_token(number) for number in range(FIRST_WORD_ID)]
    if found != list(SPECIAL_WORDS):
        raise InputError(f"expected the words {list(SPECIAL_WORDS)} at the ids 0, 1, 2, found {found}", path=path)
    return tokenizer


def words_of(tokenizer: Tokenizer) -> list[str]:
    """Return all words of a tokenizer in the order of their ids, the special ones first."""
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


@cache
def stop_words() -> frozenset[str]:
    """Return the words that are never targets: function words, punctuation and `<unk>` `<eos>`."""
    return frozenset(files(__package__).joinpath("stop_words.txt").read_text(encoding="utf-8").split())


def is_stop_word(words: Iterable[str]) -> NDArray[np.bool_]:
    """Return for each word whether it is left out of the targets; case does not matter, `<pad>` is one too."""
    left_out = stop_words() | {PAD}
    return np.array([rules.lower(word) in left_out for word in words], dtype=np.bool_)


def _normalizer(*, lower: bool, pretokenized: bool) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = [normalizers.NFC()]
    if not pretokenized:
        steps += [normalizers.Replace(Regex(f"[{old}]"), new) for old, new in rules.REPLACEMENTS]
    if lower:
        steps.append(normalizers.Lowercase())
    return normalizers.Sequence(steps)
