"""Training a word space on a stream of token ids: the settings, and the choice between the two engines.

In: the token stream of a store, its sentence offsets, how often each id occurs. Out: one vector a word, of unit
length. gensim trains on all cores of a CPU; our own skip-gram in PyTorch on a GPU, and on a CPU where gensim is not
installed.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from facetvec.config import Checked
from facetvec.errors import ConfigError, InputError
from facetvec.files import import_extra
from facetvec.progress import Progress, silent
from facetvec.vectors.space import unit_rows

if TYPE_CHECKING:
    import torch

MAX_WINDOW = 20

Engine = Literal["gensim", "torch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipGramSettings(Checked):
    """How skip-gram trains. The last three are for PyTorch; gensim takes pair by pair, at word2vec's rate.

    `subsample` is the share of the text above which a word is thinned out. A batch has at most `batch_size` centres,
    fewer in a small text; together its `shared_negatives` weigh as much as `negatives` words a pair. None stands for
    what suits the length of the text and the device.
    """

    dim: int = 300
    window: int = 5
    epochs: int = 5
    negatives: int = 5
    subsample: float = 1e-4
    seed: int = 0
    batch_size: int = 16384
    shared_negatives: int | None = None
    learning_rate: float | None = None

    def check(self) -> None:
        """Check ranges."""
        for name in ("dim", "epochs", "negatives", "batch_size", "shared_negatives"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, found {value}")
        for name in ("subsample", "learning_rate"):
            if (value := getattr(self, name)) is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} must be above 0 and at most 1, found {value}")
        if not 1 <= self.window <= MAX_WINDOW:
            raise ConfigError(f"window must be 1 to {MAX_WINDOW}, found {self.window}")
        if not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed must be 0 to 2**32 - 1, found {self.seed}")


def train_vectors(
    token_ids: NDArray[np.uint16 | np.uint32],
    *,
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    first_word: int,
    settings: SkipGramSettings,
    workers: int,
    engine: Literal["auto", "gensim", "torch"] = "auto",
    device: str = "auto",
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Train word vectors by skip-gram and return them as rows of unit length, one for each id: float32 [V, D].

    Sentence i is `token_ids[offsets[i] : offsets[i + 1]]`; no window leaves it. `counts` says how often each id occurs
    in the stream. Ids below `first_word` are no words: no centres, no contexts, no negatives. Their rows are zero, and
    so are those of words that do not occur. `token_ids` may be memory-mapped: it is read in blocks.

    The same seed gives the same vectors, bit for bit, with gensim if `workers` is 1, and with PyTorch on a CPU (of one
    kind, with the same `workers`). On a GPU sums are taken in any order.
    """
    counts = np.where(np.arange(len(counts)) < first_word, 0, counts)
    offsets = np.unique(offsets)  # sentences without tokens leave the stream as it is
    if not counts.any() or len(offsets) < 2:
        raise InputError(f"no words to train on: none of {len(token_ids)} tokens is a word of the vocabulary")
    if (highest := int(token_ids.max())) >= len(counts):
        raise InputError(f"token stream: expected ids below {len(counts)}, found {highest}")
    if choose_engine(engine, device=device) == "gensim":
        from facetvec.vectors.gensim_training import train_gensim

        vectors = train_gensim(
            token_ids, offsets=offsets, counts=counts, settings=settings, workers=workers, progress=progress
        )
    else:
        import_extra("torch", extra="train", purpose="training word vectors")
        from facetvec.vectors.skipgram import train_skipgram

        vectors = train_skipgram(
            token_ids,
            offsets=offsets,
            counts=counts,
            settings=settings,
            device=choose_device(device),
            workers=workers,
            progress=progress,
        )
    return unit_rows(np.where(counts[:, None] > 0, vectors, 0))


def choose_engine(engine: Literal["auto", "gensim", "torch"], *, device: str) -> Engine:
    """Return the engine to train with: PyTorch where there is a GPU, else gensim, else PyTorch on the CPU."""
    if engine != "auto":
        return engine
    if _is_installed("torch") and choose_device(device).type != "cpu":
        return "torch"
    if _is_installed("gensim"):
        return "gensim"
    return "torch"


def choose_device(device: str) -> "torch.device":
    """Return the PyTorch device of that name; "auto" is the GPU if there is one."""
    import torch

    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)


def sentence_blocks(offsets: NDArray[np.int64], *, size: int, epochs: int) -> Iterator[tuple[int, int]]:
    """Yield, epoch after epoch, ranges of sentences of at most `size` tokens, or of one sentence that is longer."""
    for _epoch in range(epochs):
        first = 0
        while first < len(offsets) - 1:
            last = max(int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1, first + 1)
            yield first, last
            first = last


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
