"""The LSTM variant of encoder and decoder, an ablation.

In and out as their Transformers. A layer of the encoder reads each text in both directions, half of D for each; the
direction backwards starts at `<eos>`, not at the padding. The summary is where both directions end: at `<eos>` and at
the first word. The decoder reads the starts of the facets one after the other.

Shapes: B texts, L tokens, D dimensions, K facets.
"""

import math

import torch
from torch import Tensor, nn

from facetvec.model.parts import Dropout
from facetvec.model.shape import ModelConfig


class LstmEncoder(nn.Module):
    """Layers of LSTMs in both directions."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        half = config.dim // 2
        self.forwards = nn.ModuleList(
            OneWay(config.dim, half, generator=generator) for _ in range(config.encoder_layers)
        )
        self.backwards = nn.ModuleList(
            OneWay(config.dim, half, generator=generator) for _ in range(config.encoder_layers)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, inputs_BLD: Tensor, *, lengths_B: Tensor | None) -> Tensor:
        """Return the states of the tokens; those of padding mean nothing."""
        states_BLD = inputs_BLD
        for forwards, backwards in zip(self.forwards, self.backwards, strict=True):
            states_BLD = self.dropout(states_BLD)
            ahead = forwards(states_BLD)
            back = backwards(turned(states_BLD, lengths_B=lengths_B))
            states_BLD = torch.cat([ahead, turned(back, lengths_B=lengths_B)], dim=-1)
        return states_BLD

    def summary(self, states_BLD: Tensor, *, lengths_B: Tensor | None) -> Tensor:
        """Return the states of both directions after the whole text."""
        half = states_BLD.shape[2] // 2
        last_BD = turned(states_BLD, lengths_B=lengths_B)[:, 0]
        return torch.cat([last_BD[:, :half], states_BLD[:, 0, half:]], dim=-1)


class LstmDecoder(nn.Module):
    """Layers of an LSTM over the facets."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            OneWay(config.dim, config.dim, generator=generator) for _ in range(config.decoder_layers)
        )
        self.dropout = Dropout(config.decoder_dropout)

    def forward(self, starts_BKD: Tensor, *, states_BLD: Tensor, lengths_B: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return the facets before the last linear map; the states of the text are not looked at."""
        for layer in self.layers:
            starts_BKD = layer(self.dropout(starts_BKD))
        return starts_BKD


class OneWay(nn.Module):
    """One layer of LSTM, in one direction, which starts at U(±1/√size) as is PyTorch's habit."""

    def __init__(self, num_in: int, num_out: int, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.lstm = nn.LSTM(num_in, num_out, batch_first=True, device="meta").to_empty(device="cpu")
        bound = 1 / math.sqrt(num_out)
        for weight in self.lstm.parameters():
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def forward(self, inputs_BLD: Tensor) -> Tensor:
        """Return the states after each input; the state before is given, so that a traced graph takes any batch."""
        start_1BD = inputs_BLD.new_zeros(1, inputs_BLD.shape[0], self.lstm.hidden_size)
        states_BLD: Tensor = self.lstm(inputs_BLD, (start_1BD, start_1BD))[0]
        return states_BLD


def turned(states_BLD: Tensor, *, lengths_B: Tensor | None) -> Tensor:
    """Return the tokens of each text in reverse; padding stays at the end, as copies of the last."""
    if lengths_B is None:
        return states_BLD.flip(1)
    positions_L = torch.arange(states_BLD.shape[1], device=states_BLD.device)
    sources_BL = (lengths_B[:, None] - 1 - positions_L).clamp(min=0).long()
    return states_BLD.gather(1, sources_BL[..., None].expand_as(states_BLD))
