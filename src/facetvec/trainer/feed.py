"""Batches of the store → tensors of one training step, on the device.

In: a batch drawn for all processes together. Out: this process's rows: inputs, their own targets, and the targets of
other texts as negatives. Who is whose negative is decided for the batch as a whole, so that any number of processes
learns the same.

Shapes: B rows of this process, L input ids, N targets, R targets of other texts (N for each negative text).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from facetvec.config import TrainingConfig
from facetvec.examples.arrays import mix64
from facetvec.examples.drawing import Batch

LENGTH_STEP = 8  # inputs are padded to a multiple of this on a GPU
MOST_OWN_WORDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Tensors of a step. Weights are 0 for padding and for words without a vector.

    Either kind adds up to 1 over the whole batch, so that a sum weighted by it is the mean over real target words,
    whatever the number of processes.
    """

    token_ids_BL: Tensor
    lengths_B: Tensor | None
    own_ids_BN: Tensor
    own_weights_BN: Tensor
    other_ids_BR: Tensor
    other_weights_BR: Tensor


class Feed:
    """Turns batches into rows on a device."""

    def __init__(
        self,
        config: TrainingConfig,
        *,
        is_known: NDArray[np.bool_],
        max_tokens: int,
        device: torch.device,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        self.config = config
        self.is_known = is_known
        self.max_tokens = max_tokens
        self.device = device
        self.share = slice(rank, None, world_size)
        self._most_targets = config.max_targets + (MOST_OWN_WORDS if config.own_words else 0)

    def rows(self, batch: Batch, *, key: int) -> Rows:
        """Take this process's rows of a batch; `key` decides the negatives."""
        targets, weights = self._targets(batch)
        token_ids = batch.token_ids_BL
        if self.device.type == "cuda":  # few shapes, so that recorded steps can be used again
            targets, weights = _widened(targets, self._most_targets), _widened(weights, self._most_targets)
            width = -(-token_ids.shape[1] // LENGTH_STEP) * LENGTH_STEP
            token_ids = _widened(token_ids, min(width, self.max_tokens))
        partners = negatives_of(len(targets), config=self.config, key=key)
        other_ids = targets[partners].reshape(len(partners), -1)
        other_weights = _normalized(weights[partners].reshape(len(partners), -1))
        lengths = batch.lengths_B[self.share]
        is_even = self.device.type != "cuda" and bool((lengths == token_ids.shape[1]).all())
        return Rows(
            token_ids_BL=self._tensor(token_ids[self.share]),
            lengths_B=None if is_even else self._tensor(lengths),
            own_ids_BN=self._tensor(targets[self.share]),
            own_weights_BN=self._tensor(_normalized(weights)[self.share]),
            other_ids_BR=self._tensor(other_ids[self.share]),
            other_weights_BR=self._tensor(other_weights[self.share]),
        )

    def _targets(self, batch: Batch) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the target words of all texts and their weights: 1, `own_words` for a text's own, 0 for no word."""
        targets = batch.target_ids_BN
        weights = (np.arange(targets.shape[1]) < batch.num_targets_B[:, None]).astype(np.float32)
        if batch.own_ids_BM is not None and batch.num_own_B is not None:
            own_weights = (np.arange(batch.own_ids_BM.shape[1]) < batch.num_own_B[:, None]) * self.config.own_words
            targets = np.hstack([targets, batch.own_ids_BM])
            weights = np.hstack([weights, own_weights.astype(np.float32)])
        return targets, weights * self.is_known[targets]

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor


def _normalized(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    return weights / np.float32(max(float(weights.sum()), 1e-9))


def _widened(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Pad rows with zeros to a width; wider ones stay."""
    return np.pad(array, ((0, 0), (0, max(0, width - array.shape[1]))))


def negatives_of(num_texts: int, *, config: TrainingConfig, key: int) -> NDArray[np.int64]:
    """Return the numbers of the texts whose targets are the negatives of each text: [texts, negatives].

    "rotation" shifts the batch by a random number of texts, as the paper does; "batch" draws for each text by itself.
    """
    text = np.arange(num_texts)[:, None]
    negative = np.arange(config.num_negatives)[None, :]
    number = negative + (0 * text if config.negatives == "rotation" else (text + 1) * config.num_negatives)
    chance = mix64(number.astype(np.uint64), key=key) >> np.uint64(33)
    return (text + 1 + chance.astype(np.int64) % (num_texts - 1)) % num_texts
