"""A word space from the text of a store.

In: a store. Out: the space of its words, in the order of their ids; a word that has no occurrence to learn from is not
in it.
"""

from typing import Literal

import numpy as np

from facetvec.examples.store import Store
from facetvec.examples.workers import available_cores
from facetvec.progress import Progress, silent
from facetvec.vectors.space import WordSpace
from facetvec.vectors.training import SkipGramSettings, train_vectors
from facetvec.vocabulary.tokenizer import FIRST_WORD_ID


def train_word_space(
    store: Store,
    *,
    settings: SkipGramSettings | None = None,
    engine: Literal["auto", "gensim", "torch"] = "auto",
    device: str = "auto",
    workers: int | None = None,
    progress: Progress = silent,
) -> WordSpace:
    """Train skip-gram vectors of unit length on the sentences of a store.

    `engine` "auto" is PyTorch where it finds a GPU, gensim (on `workers` cores, all by default) elsewhere.
    """
    vectors = train_vectors(
        np.asarray(store.tokens),
        offsets=np.asarray(store.offsets),
        counts=np.asarray(store.counts),
        first_word=FIRST_WORD_ID,
        settings=settings or SkipGramSettings(),
        workers=workers or available_cores(),
        engine=engine,
        device=device,
        progress=progress,
    )
    learned = np.flatnonzero(vectors.any(axis=1))
    return WordSpace(
        words=tuple(store.words[number] for number in learned),
        vectors_VD=vectors[learned],
        counts=np.asarray(store.counts)[learned],
    )
