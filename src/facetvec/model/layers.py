"""A layer of a Transformer as in BERT: a norm after each residual sum (post-LN), exact GELU.

In: states of the tokens of texts, or of their facets. Out: states of the same shape.

Shapes: B texts, L tokens or facets, M tokens looked at, D dimensions, F dimensions inside the feed-forward net.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from facetvec.model.attention import Attention
from facetvec.model.parts import Dropout, new_linear, new_norm
from facetvec.model.shape import ModelConfig


class Layer(nn.Module):
    """Self-attention, cross-attention if wanted, and a feed-forward net, each followed by residual sum and norm."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        dropout: float,
        cross_attention: bool,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        dim, wide = config.dim, config.feedforward_multiple * config.dim
        self.attention = new_attention(config, generator=generator)
        self.attention_norm = new_norm(dim)
        if cross_attention:
            self.cross_attention = new_attention(config, generator=generator)
            self.cross_attention_norm = new_norm(dim)
        self.widen = new_linear(dim, wide, generator=generator)
        self.narrow = new_linear(wide, dim, generator=generator)
        self.feedforward_norm = new_norm(dim)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        states_BLD: Tensor,
        *,
        mask_B11L: Tensor | None = None,
        seen_BMD: Tensor | None = None,
        seen_mask_B11M: Tensor | None = None,
    ) -> Tensor:
        """Return the next states; with cross-attention, `seen_BMD` are the states of the text."""
        attended = self.attention(states_BLD, mask_B11M=mask_B11L)
        states_BLD = self.attention_norm(states_BLD + self.dropout(attended))
        if seen_BMD is not None:
            attended = self.cross_attention(states_BLD, seen_BMD=seen_BMD, mask_B11M=seen_mask_B11M)
            states_BLD = self.cross_attention_norm(states_BLD + self.dropout(attended))
        wide_BLF = functional.gelu(self.widen(states_BLD))
        next_BLD: Tensor = self.feedforward_norm(states_BLD + self.dropout(self.narrow(wide_BLF)))
        return next_BLD


def new_attention(config: ModelConfig, *, generator: torch.Generator | None) -> Attention:
    """Make attention of a network's size."""
    return Attention(config.dim, heads=config.heads, dropout=config.attention_dropout, generator=generator)
