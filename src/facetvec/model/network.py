"""Token ids → facets: the whole network.

In: batches of token ids, each text ending in `<eos>` and padded at the end. Out: K vectors a text in the space of the
word vectors, of any length. Padding takes no part: a text's facets are the same whatever it is batched with. Where all
texts of a batch are of one length, `lengths_B=None` says so, and no mask is made; nothing waits for the device.

The paper's symbols: F(I) is `facets_BKD`, e_eos the encoder's `summary`, L_k `maps`.

Shapes: B texts, L tokens with `<eos>`, D dimensions, K facets, V ids.
"""

import torch
from torch import Tensor, nn

from facetvec.errors import InputError
from facetvec.model.decoder import MAP_RANGE, FacetMaps, TransformerDecoder
from facetvec.model.encoder import TransformerEncoder
from facetvec.model.lstm import LstmDecoder, LstmEncoder
from facetvec.model.parts import new_linear
from facetvec.model.shape import ModelConfig
from facetvec.model.table import new_table


class FacetNetwork(nn.Module):
    """Encoder, one map a facet, facet decoder, one last linear map.

    `vectors_VD` start the input table, or are held by it; a network whose weights are to be loaded needs none, unless
    its table is fixed. All starts are drawn from `generator`, PyTorch's own if none is given.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        vectors_VD: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        is_lstm = config.architecture == "lstm"
        self.table = new_table(config, vectors_VD=vectors_VD, generator=generator)
        self.encoder = (LstmEncoder if is_lstm else TransformerEncoder)(config, generator=generator)
        self.facet_maps = FacetMaps(config, generator=generator)
        self.decoder = (LstmDecoder if is_lstm else TransformerDecoder)(config, generator=generator)
        self.output = new_linear(config.dim, config.dim, generator=generator)
        nn.init.uniform_(self.output.weight, -MAP_RANGE, MAP_RANGE, generator=generator)

    def forward(self, token_ids_BL: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Return the facets [B, K, D]; `lengths_B` counts the tokens of each text, None if there is no padding."""
        return self.decode(self.encode(token_ids_BL, lengths_B), lengths_B)

    def encode(self, token_ids_BL: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Return the states [B, L, D] of all tokens; those of padding mean nothing."""
        if (num_tokens := token_ids_BL.shape[1]) > self.config.max_tokens:
            raise InputError(
                f"expected texts of at most {self.config.max_tokens} tokens with <eos>, found {num_tokens}:"
                " shorten them, or train a network with larger max_tokens"
            )
        states_BLD: Tensor = self.encoder(self.table(token_ids_BL), lengths_B=lengths_B)
        return states_BLD

    def decode(self, states_BLD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Return the facets [B, K, D] of texts whose tokens have these states."""
        starts_BKD = self.facet_maps(self.encoder.summary(states_BLD, lengths_B=lengths_B))
        facets_BKD: Tensor = self.output(self.decoder(starts_BKD, states_BLD=states_BLD, lengths_B=lengths_B))
        return facets_BKD
