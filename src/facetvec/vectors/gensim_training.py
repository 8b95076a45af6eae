"""Skip-gram by gensim, on all cores of a CPU.

In: a stream of token ids cut into sentences, and how often each id occurs. Out: one vector a word.

gensim is fastest where it reads a text file itself: its threads then run free of Python's lock. So the stream is
written, part by part, as lines of ids of one width into a temporary file, which gensim trains on at the learning rate
due for that part. A part is some seconds of work: small on the disk, and often enough for a report of progress.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from facetvec.files import import_extra
from facetvec.progress import Progress, Step
from facetvec.vectors.training import SkipGramSettings, sentence_blocks

PART = 1_000_000  # tokens a worker trains on between two reports
RATE, LAST_RATE = 0.025, 0.0001  # learning rates of word2vec


def train_gensim(
    token_ids: NDArray[np.uint16 | np.uint32],
    *,
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    settings: SkipGramSettings,
    workers: int,
    progress: Progress,
) -> NDArray[np.float32]:
    """Return vectors [V, D], not yet of unit length, for the ids whose count is not 0; the other rows are zero."""
    word2vec = import_extra("gensim.models.word2vec", extra="train", purpose="training word vectors on a CPU")
    names = _names(len(counts))
    word_ids = np.flatnonzero(counts)
    model = word2vec.Word2Vec(
        vector_size=settings.dim,
        window=settings.window,
        sg=1,
        negative=settings.negatives,
        sample=settings.subsample,
        min_count=1,
        sorted_vocab=0,
        min_alpha=LAST_RATE,
        seed=settings.seed,
        workers=workers,
    )
    model.build_vocab_from_freq({bytes(names[i, :-1]).decode(): int(counts[i]) for i in word_ids})
    total = settings.epochs * int(offsets[-1] - offsets[0])
    done = 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "part.txt"
        for first, last in sentence_blocks(offsets, size=PART * workers, epochs=settings.epochs):
            progress(Step(stage="word vectors", done=done, total=total, unit="words"))
            part = offsets[first : last + 1]
            size = int(part[-1] - part[0])
            _write_lines(path, names[token_ids[part[0] : part[-1]]], lengths=np.diff(part))
            model.train(
                corpus_file=str(path),
                total_words=size,
                epochs=1,
                start_alpha=_rate(done / total),
                end_alpha=_rate((done + size) / total),
            )
            done += size
    progress(Step(stage="word vectors", done=total, total=total, unit="words"))
    vectors = np.zeros((len(counts), settings.dim), dtype=np.float32)
    vectors[word_ids] = model.wv.vectors
    return vectors


def _names(num: int) -> NDArray[np.uint8]:
    """Return a name for each id, all of one width, and a space after it, as rows of bytes."""
    width = len(str(num))
    return np.array([f"{i:0{width}d} ".encode() for i in range(num)]).view(np.uint8).reshape(num, width + 1)


def _write_lines(path: Path, names: NDArray[np.uint8], *, lengths: NDArray[np.int64]) -> None:
    names[np.cumsum(lengths) - 1, -1] = ord("\n")
    path.write_bytes(names.data)


def _rate(share_done: float) -> float:
    return RATE - (RATE - LAST_RATE) * share_done
