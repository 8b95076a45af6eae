"""Token ids → input vectors of the encoder.

In: the word vectors, a row for each id. Out: unit vectors times √D, so that their entries are about 1, either trained
from there or held there and sent through a linear map that starts at the identity. Rows of zeros, such as those of
`<unk>` and `<eos>`, have no direction: a trained table starts them in a random one; a fixed table learns rows for the
three special ids and leaves other words without a vector at zero, all alike.

Shapes: B texts, L tokens, D dimensions, V ids, S special ids.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from facetvec.errors import ConfigError
from facetvec.model.parts import new_linear
from facetvec.model.shape import ModelConfig

PAD_ID, NUM_SPECIAL = 0, 3  # <pad>, <unk>, <eos>: the ids that are no words


class TrainedTable(nn.Module):
    """A vector for each id, trained."""

    def __init__(self, vectors_VD: Tensor, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(with_random_rows(scaled(vectors_VD), generator=generator))

    def forward(self, token_ids_BL: Tensor) -> Tensor:
        """Look the vectors up."""
        return functional.embedding(token_ids_BL, self.weight)


class FixedTable(nn.Module):
    """A vector for each id, held, but for the special ids; then a trained linear map."""

    vectors_VD: Tensor

    def __init__(self, vectors_VD: Tensor, *, generator: torch.Generator | None) -> None:
        super().__init__()
        dim = vectors_VD.shape[1]
        self.register_buffer("vectors_VD", scaled(vectors_VD), persistent=False)
        self.special = nn.Parameter(with_random_rows(torch.zeros(NUM_SPECIAL, dim), generator=generator))
        self.map = new_linear(dim, dim, generator=generator)
        nn.init.eye_(self.map.weight)

    def forward(self, token_ids_BL: Tensor) -> Tensor:
        """Look the vectors up and map them."""
        words_BLD = functional.embedding(token_ids_BL, self.vectors_VD)
        special_BLD = functional.embedding(token_ids_BL.clamp(max=NUM_SPECIAL - 1), self.special)
        is_word_BL1 = (token_ids_BL >= NUM_SPECIAL)[..., None]
        mapped: Tensor = self.map(torch.where(is_word_BL1, words_BLD, special_BLD))
        return mapped


def new_table(
    config: ModelConfig, *, vectors_VD: Tensor | None, generator: torch.Generator | None
) -> TrainedTable | FixedTable:
    """Make the input table; without vectors, one whose weights are about to be loaded."""
    shape = (config.vocabulary_size, config.dim)
    if vectors_VD is not None and vectors_VD.shape != shape:
        raise ConfigError(
            f"expected word vectors of shape {shape} (vocabulary_size, dim), found {tuple(vectors_VD.shape)}"
        )
    if config.input_table == "trained":
        return TrainedTable(torch.zeros(shape) if vectors_VD is None else vectors_VD, generator=generator)
    if vectors_VD is None:
        raise ConfigError("a fixed input table is no part of the weights: give the word vectors it holds")
    return FixedTable(vectors_VD, generator=generator)


def scaled(vectors_VD: Tensor) -> Tensor:
    """Return rows of length √D in float32; rows of zeros stay."""
    unit_VD: Tensor = functional.normalize(vectors_VD.float(), dim=1)
    return unit_VD * math.sqrt(vectors_VD.shape[1])


def with_random_rows(vectors_VD: Tensor, *, generator: torch.Generator | None) -> Tensor:
    """Give rows of zeros a random direction and the length √D; `<pad>` stays zero."""
    is_empty_V1 = (vectors_VD == 0).all(dim=1, keepdim=True)
    is_empty_V1[PAD_ID] = False
    random_VD = scaled(torch.randn(vectors_VD.shape, generator=generator))
    return torch.where(is_empty_V1, random_VD, vectors_VD)
