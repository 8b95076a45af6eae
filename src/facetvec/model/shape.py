"""What decides the shape of a network, checked on construction.

Parameters at D = 300 with F = 4 D = 1200, 5 encoder layers and 51 positions, the word vectors apart:

    layer, without cross-attention   4 (D² + D) + (D F + F) + (F D + D) + 2 · 2 D        1,083,900
    layer, with cross-attention      the same + 4 (D² + D) + 2 D                         1,445,700
    positions and their norm         51 D + 2 D                                             15,900
    K maps and their norm, output    (K + 1) (D² + D) + 2 D                 90,300 (K + 1) + 600

    K = 10: 5 · 1,083,900 + 5 · 1,445,700 + 15,900 + 993,900 = 13,657,800
    K = 1:  5 · 1,083,900 +     1,083,900 + 15,900 + 181,200 =  6,700,500

which are the 13.66 M and the 6.70 M of the paper. The last digits stand on three readings: every linear map has a bias,
cross-attention has a norm of its own, and there are as many positions as the longest sentence needs, 50 words and
`<eos>` (any number from 42 to 65 gives both figures).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from facetvec.config import Checked
from facetvec.errors import ConfigError

MAX_FACETS = 100
PHRASE_TOKENS = 6

Unit = Literal["sentence", "phrase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig(Checked):
    """The shape of a network.

    `vocabulary_size` counts all ids, `<pad>`, `<unk>` and `<eos>` among them. `dim` is the size of the word vectors, of
    the hidden states and of the facets. `max_tokens` is the longest input, its `<eos>` counted. `cross_attention` lets
    the facets look at all tokens, not at `<eos>` alone. `dropout` is that of the encoder, `decoder_dropout` that of all
    that follows; `attention_dropout` strikes attention weights of both, and keeps fast attention kernels out on a CPU.

    `input_table` says what becomes of the word vectors at the input: `trained` starts there and learns, `fixed` leaves
    them as they are and learns a linear map. A fixed table is no part of the network's state: a file of it is smaller.
    """

    vocabulary_size: int
    num_facets: int = 10
    dim: int = 256
    architecture: Literal["transformer", "lstm"] = "transformer"
    encoder_layers: int = 4
    decoder_layers: int = 3
    heads: int = 8
    feedforward_multiple: int = 4
    cross_attention: bool = True
    max_tokens: int = 51
    dropout: float = 0.1
    decoder_dropout: float = 0.1
    attention_dropout: float = 0.0
    input_table: Literal["trained", "fixed"] = "trained"

    def check(self) -> None:
        """Check ranges and what must go together."""
        for name in ("dim", "encoder_layers", "decoder_layers", "heads", "feedforward_multiple", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, found {getattr(self, name)}")
        if self.vocabulary_size < 3:
            raise ConfigError(f"vocabulary_size must be at least 3 (<pad>, <unk>, <eos>), found {self.vocabulary_size}")
        if not 1 <= self.num_facets <= MAX_FACETS:
            raise ConfigError(f"num_facets must be 1 to {MAX_FACETS}, found {self.num_facets}")
        for name in ("dropout", "decoder_dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 0 and below 1, found {getattr(self, name)}")
        if self.architecture == "lstm":
            self._check_lstm()
        elif self.dim % self.heads:
            raise ConfigError(f"dim must be a multiple of heads, found dim {self.dim} and heads {self.heads}")

    def _check_lstm(self) -> None:
        if self.dim % 2:
            raise ConfigError(f"dim must be even for an LSTM, half of it for each direction, found {self.dim}")
        if self.cross_attention:
            raise ConfigError("an LSTM has no cross-attention: set cross_attention to false")


PROFILES: dict[str, dict[str, Any]] = {
    "fast": {},
    "paper": {"dim": 300, "heads": 10, "encoder_layers": 5, "decoder_layers": 5, "attention_dropout": 0.1},
}


def model_config(
    profile: str, *, unit: Unit, vocabulary_size: int, table: Mapping[str, Any] | None = None
) -> ModelConfig:
    """Return the shape that a profile has for sentences or phrases, changed by a table of settings."""
    if profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}; there are {', '.join(PROFILES)}")
    given = dict(table or {})
    shape = PROFILES[profile] | {"vocabulary_size": vocabulary_size}
    if unit == "phrase":
        shape |= {"decoder_layers": 2, "cross_attention": False, "decoder_dropout": 0.5, "max_tokens": PHRASE_TOKENS}
    elif given.get("num_facets") == 1:
        shape |= {"decoder_layers": 1, "cross_attention": False}
    if given.get("architecture") == "lstm":
        shape |= {"cross_attention": False}
    return ModelConfig.from_table(shape | given)
