# SPDX-License-Identifier: Apache-2.0
"""The block around a mixer: norms, residuals and an MLP."""
from torch import Tensor, nn

from .conventions import Conventions, require_one_of
from .mlp import MLP

KINDS = ("pre_norm", "post_norm", "bare")


class Block(nn.Module):
    """A layer of an encoder: [batch, length, width] to the same shape. There are three kinds:

    * `pre_norm`: x += drop(mix(norm1(x))), x += drop(mlp(norm2(x))) (Sliceformer, the Long Range
      Arena, ViT). The encoder normalizes the output of the last layer.
    * `post_norm`: x = norm1(x + drop(mix(x))), x = norm2(x + drop(mlp(x))) (Attention Is All You
      Need, section 3.1).
    * `bare`: x = drop(mix(x)) (Paramixer, whose mixer contains residuals and MLPs).

    mixer: a module of this package, or a custom one with `forward(x, lengths, start)`.
    hidden: hidden width of the MLP; defaults to twice the width.
    """

    def __init__(
        self,
        mixer: nn.Module,
        width: int,
        hidden: int | None = None,
        kind: str = "pre_norm",
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__()
        self.kind = require_one_of("kind", kind, KINDS)
        self.mixer = mixer
        self.drop = nn.Dropout(rules.dropout)
        if kind != "bare":
            self.norm1, self.norm2 = rules.norm(width), rules.norm(width)
            self.mlp = MLP(width, 2 * width if hidden is None else hidden, width, rules)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], counts the valid rows; other rows of the output are undefined.
        `start` is the embedding, for mixers that read it; None: x."""
        start = x if start is None else start
        if self.kind == "bare":
            return self.drop(self.mixer(x, lengths, start))
        if self.kind == "post_norm":
            x = self.norm1(x + self.drop(self.mixer(x, lengths, start)))
            return self.norm2(x + self.drop(self.mlp(x)))
        x = x + self.drop(self.mixer(self.norm1(x), lengths, start))
        return x + self.drop(self.mlp(self.norm2(x)))

    def extra_repr(self) -> str:
        return f"kind={self.kind!r}"
