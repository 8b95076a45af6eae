"""Multi-head attention: softmax(q kᵀ / √(D / H)) v for each of H heads, between a projection and another.

In: states of tokens or facets, and those they look at. Out: states. A mask is true for what may be looked at.

On a GPU PyTorch's fused kernels take all steps at once. They ask for heads of a multiple of 8, so others are filled up
with zeros, in the weights and not in the much larger states; the result is the same. On a CPU the steps are taken one
by one: for texts of 25 tokens, forward and backward, PyTorch's fused kernel needed five times as long in bfloat16 and
twice as long in float32, whether heads were 30 or filled up to 32.

Shapes: B texts, L tokens or facets, M tokens or facets looked at, D dimensions, H heads, E dimensions of a head,
X rows of a weight.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from facetvec.model.parts import Dropout, new_linear

HEAD_ALIGNMENT = 8


class Attention(nn.Module):
    """Attention to oneself or to others, the projections of all heads to query, key and value in one weight."""

    def __init__(self, dim: int, *, heads: int, dropout: float, generator: torch.Generator | None) -> None:
        super().__init__()
        self.heads = heads
        self.scale = 1 / math.sqrt(dim // heads)
        self.query_key_value = new_linear(dim, 3 * dim, generator=generator)
        self.output = new_linear(dim, dim, generator=generator)
        self.dropout = Dropout(dropout)

    def forward(self, states_BLD: Tensor, *, seen_BMD: Tensor | None = None, mask_B11M: Tensor | None) -> Tensor:
        """Let each state look at `seen_BMD`, or at all states of its own text if that is not given."""
        is_fused = has_fused_attention(states_BLD.device)
        weight_XD, bias_X, output_DX = self._filled_weights() if is_fused else self._weights()
        if seen_BMD is None:
            query, key, value = self._project(states_BLD, weight_XD, bias_X, num=3)
        else:
            width = len(bias_X) // 3
            (query,) = self._project(states_BLD, weight_XD[:width], bias_X[:width], num=1)
            key, value = self._project(seen_BMD, weight_XD[width:], bias_X[width:], num=2)
        attend = self._attend_at_once if is_fused else self._attend_in_steps
        found_BHLE = attend(query, key, value, mask_B11M)
        return functional.linear(found_BHLE.transpose(1, 2).flatten(2), output_DX, self.output.bias)

    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query_key_value.weight, self.query_key_value.bias, self.output.weight

    def _filled_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Fill up the rows that make each head, and the columns that take it up again, with zeros."""
        weight_XD, bias_X, output_DX = self._weights()
        dim = len(output_DX)
        if not (filling := -(dim // self.heads) % HEAD_ALIGNMENT):
            return weight_XD, bias_X, output_DX
        return (
            functional.pad(weight_XD.view(3 * self.heads, -1, dim), (0, 0, 0, filling)).flatten(0, 1),
            functional.pad(bias_X.view(3 * self.heads, -1), (0, filling)).flatten(),
            functional.pad(output_DX.view(dim, self.heads, -1), (0, filling)).flatten(1),
        )

    def _project(self, states_BLD: Tensor, weight_XD: Tensor, bias_X: Tensor, *, num: int) -> tuple[Tensor, ...]:
        """Return `num` projections, which stand one after the other in the weight, each as [B, H, L, E]."""
        num_texts, num_states, _ = states_BLD.shape
        projected = functional.linear(states_BLD, weight_XD, bias_X)
        return projected.view(num_texts, num_states, num, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def _attend_in_steps(self, query: Tensor, key: Tensor, value: Tensor, mask_B11M: Tensor | None) -> Tensor:
        scores_BHLM = (query * self.scale) @ key.transpose(2, 3)
        if mask_B11M is not None:
            scores_BHLM = scores_BHLM.masked_fill(~mask_B11M, -math.inf)
        weights_BHLM: Tensor = self.dropout(scores_BHLM.softmax(-1))
        return weights_BHLM @ value

    def _attend_at_once(self, query: Tensor, key: Tensor, value: Tensor, mask_B11M: Tensor | None) -> Tensor:
        rate = self.dropout.rate if self.training else 0.0
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask_B11M, dropout_p=rate, scale=self.scale
        )


def has_fused_attention(device: torch.device) -> bool:
    """Tell whether PyTorch's fused attention is worth calling on a device."""
    return device.type != "cpu"
