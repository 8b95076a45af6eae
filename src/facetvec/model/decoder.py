"""The summary of a text → its facets, by a Transformer without positions.

In: a vector for the text, and the states of its tokens. Out: K vectors. Each facet starts from a linear map of its own;
then facets look at each other, and at the tokens if there is cross-attention. The last linear map has no norm after it:
facets have any length. What tells facets apart is their map: W ~ U(±0.1), bias ~ U(±0.5).

Shapes: B texts, L tokens, D dimensions, K facets.
"""

import torch
from torch import Tensor, nn

from facetvec.model.encoder import padding_mask
from facetvec.model.layers import Layer
from facetvec.model.parts import Dropout, new_linear, new_norm
from facetvec.model.shape import ModelConfig

MAP_RANGE, MAP_BIAS_RANGE = 0.1, 0.5


class FacetMaps(nn.Module):
    """One linear map for each facet, all K in one weight."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.num_facets = config.num_facets
        self.maps = new_linear(config.dim, config.num_facets * config.dim, generator=generator)
        nn.init.uniform_(self.maps.weight, -MAP_RANGE, MAP_RANGE, generator=generator)
        nn.init.uniform_(self.maps.bias, -MAP_BIAS_RANGE, MAP_BIAS_RANGE, generator=generator)
        self.dropout = Dropout(config.decoder_dropout)
        self.norm = new_norm(config.dim)

    def forward(self, summary_BD: Tensor) -> Tensor:
        """Return where the facets start, [B, K, D]."""
        mapped: Tensor = self.dropout(self.maps(summary_BD))
        starts_BKD: Tensor = self.norm(mapped.view(summary_BD.shape[0], self.num_facets, -1))
        return starts_BKD


class TransformerDecoder(nn.Module):
    """Layers of attention among the facets."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.cross_attention = config.cross_attention
        self.layers = nn.ModuleList(
            Layer(config, dropout=config.decoder_dropout, cross_attention=config.cross_attention, generator=generator)
            for _ in range(config.decoder_layers)
        )

    def forward(self, starts_BKD: Tensor, *, states_BLD: Tensor, lengths_B: Tensor | None) -> Tensor:
        """Return the facets before the last linear map."""
        seen_BLD, mask_B11L = None, None
        if self.cross_attention:
            seen_BLD, mask_B11L = states_BLD, padding_mask(lengths_B, num_tokens=states_BLD.shape[1])
        for layer in self.layers:
            starts_BKD = layer(starts_BKD, seen_BMD=seen_BLD, seen_mask_B11M=mask_B11L)
        return starts_BKD
