# SPDX-License-Identifier: Apache-2.0
"""A model: an embedding, layers of a block around a mixer, a pooling and a head."""
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .block import Block
from .conventions import Conventions, ParameterScope, require_int, require_one_of
from .pool import POOLINGS, pool

POSITIONS = ("none", "sinusoid", "learned")


@dataclass(frozen=True)
class SampleShape:
    """The shape of a task's samples and outputs. A sample has `length` rows, padding included. Each
    row holds `features` values, or one token below `vocabulary` if `features` is 0."""

    length: int
    features: int = 0
    vocabulary: int = 0
    outputs: int = 1


def sinusoid(rows: int, width: int) -> Tensor:
    """sin(i / 10000^(2k / width)) in even channels 2k, the cosine in odd ones (Attention Is All You
    Need, section 3.5): [rows, width]."""
    channel = torch.arange(width)
    exponent = (channel - channel % 2).double() / width
    angle = torch.arange(rows).double()[:, None] * 1e4**-exponent
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).to(torch.get_default_dtype())


class Encoder(nn.Module):
    """Maps samples to outputs, [batch, outputs]. Parameters have the names of `slicesort_train`'s
    checkpoints.

    mixer: creates the mixer of a layer from its `ParameterScope`:
        `lambda scope: SlicingSort(scope.width, rules=scope.rules)`.
    hidden: hidden width of a block's MLP.
    head_hidden: width of a linear layer with relu before the last one; 0: none.
    block: `pre_norm`, `post_norm` or `bare` (`Block`).
    positions: `none`, `sinusoid` or `learned`, added to the embedding.
    pooling: `cls`, with a learned row before the others, `mean`, `max` or `flatten` (`pool`).
    masks_padding: ignores rows past a sample's length; published Sliceformer does not.
    """

    def __init__(
        self,
        shape: SampleShape,
        mixer: Callable[[ParameterScope], nn.Module],
        width: int = 64,
        layers: int = 2,
        hidden: int = 128,
        head_hidden: int = 0,
        block: str = "pre_norm",
        positions: str = "learned",
        pooling: str = "mean",
        masks_padding: bool = True,
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__()
        for name, size, minimum in (
            ("length", shape.length, 1),
            ("features", shape.features, 0),
            ("vocabulary", shape.vocabulary, 0 if shape.features else 1),
            ("outputs", shape.outputs, 1),
            ("width", width, 1),
            ("layers", layers, 0),
            ("hidden", hidden, 1),
            ("head_hidden", head_hidden, 0),
        ):
            require_int(name, size, minimum)
        self.shape, self.masks_padding = shape, masks_padding
        self.pooling = require_one_of("pooling", pooling, POOLINGS)
        self.position_kind = require_one_of("positions", positions, POSITIONS)
        self.rows = shape.length + (pooling == "cls")
        if shape.features > 0:
            self.input = rules.linear(shape.features, width)
        else:
            self.embedding = nn.Embedding(shape.vocabulary, width)
            nn.init.normal_(self.embedding.weight, std=rules.token_deviation)
        if pooling == "cls":
            self.cls = nn.Parameter(torch.zeros(width))
        if positions == "learned":
            self.positions = nn.Parameter(torch.randn(self.rows, width) * rules.position_deviation)
        elif positions == "sinusoid":
            self.register_buffer("positions", sinusoid(self.rows, width), persistent=False)
        self.drop = nn.Dropout(rules.dropout)
        # Paramixer's code applies dropout to the embedding a second time.
        self.second_drop = nn.Dropout(rules.dropout if block == "bare" else 0.0)
        scopes = [ParameterScope(n, layers, self.rows, width, rules) for n in range(layers)]
        self.layers = nn.ModuleList(Block(mixer(s), width, hidden, block, rules) for s in scopes)
        if block == "pre_norm":
            self.norm = rules.norm(width)
        pooled = width * (self.rows if pooling == "flatten" else 1)
        if head_hidden > 0:
            self.before_head = rules.linear(pooled, head_hidden)
        self.head = rules.linear(head_hidden or pooled, shape.outputs)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Maps tokens, [batch, length], or features, [batch, length, features], to
        [batch, outputs]. `lengths`, int64 [batch], counts the valid rows of each sample; None: all."""
        start = self.embed(x)
        lengths = self.valid_rows(lengths)
        y = self.second_drop(start)
        for layer in self.layers:
            y = layer(y, lengths, start)
        if hasattr(self, "norm"):
            y = self.norm(y)
        y = pool(y, self.pooling, lengths)
        if hasattr(self, "before_head"):
            y = self.before_head(y).relu()
        return self.head(y)

    def embed(self, x: Tensor) -> Tensor:
        """Returns the class token, if any, and the embedded rows, with positions:
        [batch, rows, width]."""
        shape = [self.shape.length] + ([self.shape.features] if self.shape.features > 0 else [])
        if (actual := list(x.shape[1:])) != shape:
            raise ValueError(f"samples are {actual}, must be {shape}, padding included")
        y = self.input(x) if self.shape.features > 0 else self.embedding(x)
        if self.pooling == "cls":
            y = torch.cat([self.cls.expand(len(y), 1, -1), y], dim=1)
        return self.drop(y if self.position_kind == "none" else y + self.positions)

    def valid_rows(self, lengths: Tensor | None) -> Tensor | None:
        """Returns the number of valid rows of each sequence, class token included."""
        if lengths is None or not self.masks_padding:
            return None
        return lengths + (self.pooling == "cls")
