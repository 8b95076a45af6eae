"""Token ids → hidden states of their texts, by a Transformer as in BERT.

In: input vectors of the tokens. Out: a state for each token. Positions are learned; their sum with the input vectors is
normed before the first layer.

Shapes: B texts, L tokens, D dimensions.
"""

import torch
from torch import Tensor, nn

from facetvec.model.layers import Layer
from facetvec.model.parts import START_STD, Dropout, new_norm
from facetvec.model.shape import ModelConfig


class TransformerEncoder(nn.Module):
    """Positions and layers of self-attention."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.empty(config.max_tokens, config.dim))
        nn.init.normal_(self.positions, std=START_STD, generator=generator)
        self.norm = new_norm(config.dim)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(
            Layer(config, dropout=config.dropout, cross_attention=False, generator=generator)
            for _ in range(config.encoder_layers)
        )

    def forward(self, inputs_BLD: Tensor, *, lengths_B: Tensor | None) -> Tensor:
        """Return the states of the tokens; those of padding mean nothing."""
        num_tokens = inputs_BLD.shape[1]
        mask_B11L = padding_mask(lengths_B, num_tokens=num_tokens)
        states_BLD: Tensor = self.dropout(self.norm(inputs_BLD + self.positions[:num_tokens]))
        for layer in self.layers:
            states_BLD = layer(states_BLD, mask_B11L=mask_B11L)
        return states_BLD

    def summary(self, states_BLD: Tensor, *, lengths_B: Tensor | None) -> Tensor:
        """Return the state of each text's last token, `<eos>`."""
        if lengths_B is None:
            return states_BLD[:, -1]
        last_B11 = (lengths_B.long() - 1)[:, None, None]
        return states_BLD.gather(1, last_B11.expand(-1, 1, states_BLD.shape[2]))[:, 0]


def padding_mask(lengths_B: Tensor | None, *, num_tokens: int) -> Tensor | None:
    """Return [B, 1, 1, L], true for tokens of the text; without lengths there is no padding and no mask."""
    if lengths_B is None:
        return None
    positions_L = torch.arange(num_tokens, device=lengths_B.device)
    return (positions_L < lengths_B[:, None])[:, None, None]
