"""Skip-gram with shared negatives in PyTorch, on a GPU or a CPU.

In: a stream of token ids cut into sentences, and how often each id occurs. Out: one vector a word.

For a centre with vector v and its contexts with output vectors u, SGNS (Mikolov et al. 2013) minimises

    - Σ log σ(u·v) over the contexts  -  (contexts · negatives / K) · Σ log σ(-n·v) over the K shared negatives

where all centres of a batch share the K negatives, drawn from counts^0.75: their scores are one matrix product. The
centres of a batch come in segments of neighbouring words: the output vectors of a segment and its margins are gathered
once, and the scores of its pairs are one small product under a mask of the pairs that are in reach of each other. The
gradients are written out in closed form, summed into dense float32 tables and taken by Adam, whose rate falls to zero.

The stream passes through the device in blocks, so that a text of any length needs the same memory. A block is thinned
out anew in every epoch; what is left closes up, as in word2vec, but no window leaves its sentence.

Shapes: B centres of a batch, C centres of a segment, D dimensions, G segments, K shared negatives, N words of a block,
S = C + 2 · window words of a segment with its margins, V ids.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from facetvec.progress import Progress, Step
from facetvec.vectors.training import SkipGramSettings, sentence_blocks

SEGMENT = 64  # words of a segment with its margins
BLOCK = 2**24  # tokens on the device at once
STEPS_PER_REPORT = 20
STEPS_PER_EPOCH = 1000  # at least, in a small text
# The fewer the steps, the larger they must be for the vectors to get anywhere; 0.003 is the rate for 15,000 steps.
RATES, RATE_TIMES_STEPS = (0.003, 0.01), 45.0
NEGATIVES_ON_GPU, NEGATIVES_ON_CPU = 4096, 256
CDF_STEPS = 2**31 - 1  # the distribution of the negatives in whole numbers, as word2vec keeps it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `SkipGramSettings` leave open or only bound, for a text and a device; `num_steps` to within a few."""

    batch_size: int
    num_steps: int
    shared_negatives: int
    learning_rate: float


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of the words that are left after subsampling.

    `ids_GS` and `sentences_GS` hold the words and the numbers of their sentences (-1 beyond the ends of a block);
    `radii_GC` says how far the window of each centre reaches (0 for filling).
    """

    ids_GS: Tensor
    sentences_GS: Tensor
    radii_GC: Tensor


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients of the loss of a batch by the vectors of the centres, the segments' words and the negatives."""

    centres_GCD: Tensor
    words_GSD: Tensor
    negatives_KD: Tensor


def train_skipgram(
    token_ids: NDArray[np.uint16 | np.uint32],
    *,
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    settings: SkipGramSettings,
    device: torch.device,
    workers: int,
    progress: Progress,
) -> NDArray[np.float32]:
    """Return vectors [V, D], not yet of unit length, for the ids whose count is not 0; the other rows mean nothing."""
    generator = torch.Generator(device).manual_seed(settings.seed)
    keep = keep_probabilities(counts, subsample=settings.subsample)
    keep_V = torch.from_numpy(keep.astype(np.float32)).to(device)
    plan = make_plan(settings, num_centres=int(keep @ counts), is_gpu=device.type != "cpu")
    tables = Tables(counts, settings=settings, num_negatives=plan.shared_negatives, generator=generator)
    total = settings.epochs * int(offsets[-1] - offsets[0])
    done = num_steps = 0
    with num_threads(workers):
        for first, last in sentence_blocks(offsets, size=BLOCK, epochs=settings.epochs):
            begin, end = int(offsets[first]), int(offsets[last])
            segments = cut_segments(
                torch.from_numpy(token_ids[begin:end].astype(np.int32)).to(device),
                lengths=torch.from_numpy(np.diff(offsets[first : last + 1])).to(device),
                keep_V=keep_V,
                window=settings.window,
                generator=generator,
            )
            batches = deal_batches(segments, batch_size=plan.batch_size, generator=generator)
            for index, batch in enumerate(batches):
                position = done + (end - begin) * index // len(batches)
                if num_steps % STEPS_PER_REPORT == 0:
                    progress(Step(stage="word vectors", done=position, total=total, unit="words"))
                tables.step(batch, learning_rate=plan.learning_rate * (1 - position / total))
                num_steps += 1
            done += end - begin
    progress(Step(stage="word vectors", done=total, total=total, unit="words"))
    return tables.vectors()


def make_plan(settings: SkipGramSettings, *, num_centres: int, is_gpu: bool) -> Plan:
    """Fit batches, negatives and learning rate to the number of centres in an epoch and to the device."""
    batch_size = min(settings.batch_size, max(num_centres // STEPS_PER_EPOCH, SEGMENT - 2 * settings.window))
    num_steps = max(settings.epochs * num_centres // batch_size, 1)
    return Plan(
        batch_size=batch_size,
        num_steps=num_steps,
        shared_negatives=settings.shared_negatives or (NEGATIVES_ON_GPU if is_gpu else NEGATIVES_ON_CPU),
        learning_rate=settings.learning_rate or min(max(RATE_TIMES_STEPS / num_steps, RATES[0]), RATES[1]),
    )


@contextmanager
def num_threads(num: int) -> Iterator[None]:
    """Let PyTorch use that many threads of the CPU, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(num)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def keep_probabilities(counts: NDArray[np.int64], *, subsample: float) -> NDArray[np.float64]:
    """Return the chance [V] of an occurrence of a word to stay: √(t/f) + t/f, at most 1, for a word of share f."""
    ratio = subsample * counts.sum() / np.maximum(counts, 1)
    return np.where(counts > 0, np.minimum(np.sqrt(ratio) + ratio, 1), 0)


def cut_segments(
    ids_N: Tensor, *, lengths: Tensor, keep_V: Tensor, window: int, generator: torch.Generator
) -> Segments:
    """Thin out a block of sentences of the given `lengths`, and cut what is left into segments."""
    device = ids_N.device
    kept_N = torch.rand(len(ids_N), generator=generator, device=device) < keep_V.index_select(0, ids_N)
    sentences = torch.repeat_interleave(lengths, output_size=len(ids_N))[kept_N].int()
    ids = ids_N[kept_N]
    radii = torch.randint(1, window + 1, ids.shape, generator=generator, device=device, dtype=torch.int32)
    num_centres = SEGMENT - 2 * window
    filling = -len(ids) % num_centres if len(ids) else num_centres
    return Segments(
        ids_GS=functional.pad(ids, (window, filling + window)).unfold(0, SEGMENT, num_centres),
        sentences_GS=functional.pad(sentences, (window, filling + window), value=-1).unfold(0, SEGMENT, num_centres),
        radii_GC=functional.pad(radii, (0, filling)).view(-1, num_centres),
    )


def deal_batches(segments: Segments, *, batch_size: int, generator: torch.Generator) -> list[Segments]:
    """Deal the segments at random into batches of nearly the same size: `batch_size` centres, or a few less."""
    num_segments, num_centres = segments.radii_GC.shape
    order = torch.randperm(num_segments, generator=generator, device=generator.device)
    num_batches = -(-num_segments // max(batch_size // num_centres, 1))
    fields = (segments.ids_GS, segments.sentences_GS, segments.radii_GC)
    return [
        Segments(*parts) for parts in zip(*(field[order].tensor_split(num_batches) for field in fields), strict=True)
    ]


def pairs_in_reach(segments: Segments) -> Tensor:
    """Return a mask [G, C, S]: does the window of the centre reach the word, and is it of the same sentence?"""
    num_centres, num_words = segments.radii_GC.shape[1], segments.ids_GS.shape[1]
    margin = (num_words - num_centres) // 2
    positions_S = torch.arange(num_words, device=segments.ids_GS.device)
    distance_CS = (positions_S - positions_S[margin : margin + num_centres, None]).abs()
    distance_CS.masked_fill_(distance_CS == 0, num_words)  # a word is no context of itself
    centre_sentences_GC1 = segments.sentences_GS[:, margin : margin + num_centres, None]
    is_same_GCS = centre_sentences_GC1 == segments.sentences_GS[:, None, :]
    return is_same_GCS & (distance_CS <= segments.radii_GC[:, :, None])


def sgns_gradients(
    centres_GCD: Tensor, words_GSD: Tensor, negatives_KD: Tensor, *, reach_GCS: Tensor, negatives: int
) -> Gradients:
    """Differentiate the loss of a batch; the negatives weigh as much as `negatives` words for each pair in reach."""
    pull_GCS = torch.sigmoid(-(centres_GCD @ words_GSD.mT)) * reach_GCS
    weight_GC1 = reach_GCS.sum(-1, keepdim=True).to(centres_GCD.dtype) * (negatives / len(negatives_KD))
    push_BK = (centres_GCD.flatten(0, 1) @ negatives_KD.T).sigmoid_()
    return Gradients(
        centres_GCD=weight_GC1 * (push_BK @ negatives_KD).view_as(centres_GCD) - pull_GCS @ words_GSD,
        words_GSD=-(pull_GCS.mT @ centres_GCD),
        negatives_KD=push_BK.T @ (weight_GC1 * centres_GCD).flatten(0, 1),
    )


class Tables:
    """Input and output vectors of all ids, their gradients, and Adam's state.

    The rows are filled up with zeros, which stay zero, to whole 16 bytes of bf16: the fast matrix kernels ask for it.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        *,
        settings: SkipGramSettings,
        num_negatives: int,
        generator: torch.Generator,
    ) -> None:
        self.settings = settings
        self.num_negatives = num_negatives
        self.generator = generator
        device = generator.device
        filling = -settings.dim % 8
        start_VD = (
            torch.rand(len(counts), settings.dim, generator=generator, device=device).sub_(0.5).div_(settings.dim)
        )
        self.input_VD = functional.pad(start_VD, (0, filling))
        self.output_VD = torch.zeros_like(self.input_VD)
        for table_VD in (self.input_VD, self.output_VD):
            table_VD.grad = torch.zeros_like(table_VD)
        self.adam = torch.optim.Adam([self.input_VD, self.output_VD], fused=True)
        cdf = np.cumsum(counts**0.75)
        self.cdf_V = torch.from_numpy(np.round(cdf / cdf[-1] * CDF_STEPS).astype(np.int64)).to(device)
        is_bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        self.product_dtype = torch.bfloat16 if is_bf16 else torch.float32

    def draw_negatives(self) -> Tensor:
        """Draw words from counts^0.75, one from each of equal slices of the distribution: less noise, no bias."""
        slices_K = torch.arange(self.num_negatives, device=self.generator.device)
        width = CDF_STEPS // self.num_negatives
        places_K = torch.randint(width, slices_K.shape, generator=self.generator, device=slices_K.device)
        return torch.searchsorted(self.cdf_V, slices_K * width + places_K, right=True)

    def step(self, batch: Segments, *, learning_rate: float) -> None:
        """Take one step of Adam down the loss of a batch."""
        reach_GCS = pairs_in_reach(batch)
        num_segments, num_centres, num_words = reach_GCS.shape
        margin = (num_words - num_centres) // 2
        centre_ids = batch.ids_GS[:, margin : margin + num_centres].flatten()
        word_ids, negative_ids = batch.ids_GS.flatten(), self.draw_negatives()
        gradients = sgns_gradients(
            self._rows(self.input_VD, centre_ids).view(num_segments, num_centres, -1),
            self._rows(self.output_VD, word_ids).view(num_segments, num_words, -1),
            self._rows(self.output_VD, negative_ids),
            reach_GCS=reach_GCS,
            negatives=self.settings.negatives,
        )
        self.adam.zero_grad(set_to_none=False)
        _add_rows(self.input_VD, centre_ids, gradients.centres_GCD.flatten(0, 1))
        _add_rows(self.output_VD, word_ids, gradients.words_GSD.flatten(0, 1))
        _add_rows(self.output_VD, negative_ids, gradients.negatives_KD)
        self.adam.param_groups[0]["lr"] = learning_rate
        self.adam.step()

    def vectors(self) -> NDArray[np.float32]:
        """Return the input vectors."""
        vectors: NDArray[np.float32] = self.input_VD[:, : self.settings.dim].cpu().numpy()
        return vectors

    def _rows(self, table_VD: Tensor, ids: Tensor) -> Tensor:
        return table_VD.index_select(0, ids).to(self.product_dtype)


def _add_rows(table_VD: Tensor, ids: Tensor, rows: Tensor) -> None:
    assert table_VD.grad is not None
    table_VD.grad.index_add_(0, ids, rows.float())
