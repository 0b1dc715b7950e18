# SPDX-License-Identifier: Apache-2.0
"""Sinkformer's attention."""
from torch import Tensor

from ... import functional as F
from ..conventions import require_int
from ..multi_head import MultiHead, zero_padding


class SinkformerAttention(MultiHead):
    """y = W_O sinkhorn(Q K^T / sqrt(D)) V with D channels per head (Sinkformers, section 3). Rows of
    the map sum to 1, columns approximately: [batch, length, width] to the same shape. Keeps maps
    and scores, [batch, heads, length, length].

    half_steps: normalizations of rows and columns in turn, rows first and last: an odd number. 1 is
        softmax attention.
    Other arguments as in `MultiHead`.
    """

    def __init__(self, width: int, heads: int = 1, half_steps: int = 3, **projections) -> None:
        super().__init__(width, heads, **projections)
        if require_int("half_steps", half_steps) % 2 == 0:
            raise ValueError(f"half_steps is {half_steps}, must be odd")
        self.half_steps = half_steps

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        # Products read padding rows; their weight is 0, and 0 times NaN or infinity is NaN.
        q, k, v = (zero_padding(t, lengths) for t in (q, k, v))
        if lengths is not None:
            lengths = lengths.repeat_interleave(self.heads)
        scores = (q @ k.mT).flatten(0, 1)
        attention_map = F.sinkhorn(
            scores,
            tau=self.head_channels**0.5,
            half_steps=self.half_steps,
            rows_last=True,
            lengths=lengths,
            column_lengths=lengths,
        )
        return attention_map.unflatten(0, q.shape[:2]) @ v

    def extra_repr(self) -> str:
        return f"heads={self.heads}, half_steps={self.half_steps}"
