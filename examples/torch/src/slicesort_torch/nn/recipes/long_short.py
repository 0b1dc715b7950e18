# SPDX-License-Identifier: Apache-2.0
"""Long-Short Transformer's attention."""
from torch import Tensor, nn

from ... import functional as F
from ..conventions import Conventions, require_int, require_policy
from ..multi_head import MultiHead, zero_padding


class LongShortAttention(MultiHead):
    """y = W_O softmax(Q [K, P K]^T / sqrt(D)) [V, P V]: one softmax over the keys of a window and
    over `rank` keys P K, where P = softmax((x W)^T) is a softmax along the sequence
    (Long-Short Transformer, section 3): [batch, length, width] to the same shape. As published,
    LayerNorms over the channels of all heads precede the attention: `norm` of the rows of K and V,
    then `projected_norm` of those of P K and P V.

    rank: number of projected keys. W, [heads, width, rank], is the parameter `projection`.
    mask: the window, a mask of `functional.softmax_attention`.
    has_norms: False omits both norms.
    Other arguments as in `MultiHead`.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        rank: int = 32,
        mask: str = "window{8, 8}",
        has_norms: bool = True,
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        super().__init__(width, heads, rules=rules, **projections)
        require_int("rank", rank)
        require_policy("mask", mask)
        self.mask = mask
        self.projection = rules.parameter(heads, width, rank, inputs=width, outputs=rank)
        shape = (heads, 1, self.head_channels)
        for name in ("norm", "projected_norm"):
            norm = nn.LayerNorm(shape, rules.norm_epsilon) if has_norms else nn.Identity()
            setattr(self, name, norm)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        x = zero_padding(x[:, None], lengths)
        logits = x @ self.projection
        return self.merge_heads(self.attend(*self.project(x[:, 0]), lengths, logits))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None, logits: Tensor
    ) -> Tensor:
        """`logits` of the projection: [batch, heads, length, rank]."""
        k, v = (over_heads(self.norm, t) for t in (k, v))
        # A mean of rows is attention of queries without channels, with the logits as bias.
        no_q, no_k = logits.mT[..., :0], logits[..., :0]
        keys, values = (
            over_heads(
                self.projected_norm,
                F.softmax_attention(no_q, no_k, t, bias=logits.mT, scale=1.0, lengths=lengths),
            )
            for t in (k, v)
        )
        long = F.softmax_attention_with_state(q, keys, values, query_lengths=lengths)
        short = F.softmax_attention_with_state(
            q, k, v, mask=self.mask, lengths=lengths, query_lengths=lengths
        )
        return F.merge_attention(*zip(long, short))[0]

    def extra_repr(self) -> str:
        return f"heads={self.heads}, rank={self.projection.shape[2]}, mask={self.mask!r}"


def over_heads(norm: nn.Module, x: Tensor) -> Tensor:
    """Normalizes the channels of all heads of a row together, [batch, heads, length, channels]."""
    return norm(x.transpose(1, 2).unsqueeze(3)).squeeze(3).transpose(1, 2)
