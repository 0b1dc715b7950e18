# SPDX-License-Identifier: Apache-2.0
"""Reformer's attention."""
import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

from ... import functional as F
from ..conventions import require_int
from ..multi_head import MultiHead, zero_padding


class ReformerAttention(MultiHead):
    """Multi-head attention within chunks of similar rows (Reformer, section 2): random rotations
    hash rows to buckets, and each row attends to the rows of its chunk and of the one before, in a
    circle, among the rows sorted by bucket. Queries are projected rows, keys the same rows with norm
    1; a row attends to itself only if it has no other key. Several rounds are merged into one
    softmax, in which a pair that meets twice counts twice: [batch, length, width] to the same shape.

    chunk: rows of a chunk.
    rounds: rounds of hashing, 1 to 16.
    buckets: an even number.
    causal: True: query i reads keys 0 .. i.
    Other arguments as in `MultiHead`. The buffer `rotations`, [rounds, buckets / 2, channels], has
    normal numbers from torch's generator, and is saved with the parameters.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        chunk: int = 64,
        rounds: int = 4,
        buckets: int = 32,
        causal: bool = False,
        **projections,
    ) -> None:
        super().__init__(width, heads, inputs=2, **projections)
        self.chunk, self.causal = require_int("chunk", chunk), causal
        if require_int("rounds", rounds) > 16:
            raise ValueError(f"rounds is {rounds}, must be at most 16")
        if require_int("buckets", buckets) % 2 != 0:
            raise ValueError(f"buckets is {buckets}, must be even")
        self.register_buffer("rotations", torch.randn(rounds, buckets // 2, self.head_channels))

    def attend(self, x: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        x, v = zero_padding(x, lengths), zero_padding(v, lengths)
        keys = normalize(x, dim=-1, eps=1e-12)
        parts = [self.run_round(r, x, keys, v, lengths) for r in self.rotations]
        return zero_padding(F.merge_attention(*zip(*parts))[0], lengths)

    def run_round(
        self, rotation: Tensor, x: Tensor, keys: Tensor, v: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Returns the output and the state of a round, [batch, heads, length, ..]."""
        batch, heads, length, _ = x.shape
        position = torch.arange(length, device=x.device)
        counts = x.new_full((1,), length, dtype=torch.int64) if lengths is None else lengths
        scores = x.detach() @ rotation.mT
        buckets = torch.cat((scores, -scores), -1).argmax(-1)
        # Padding is sorted behind all buckets.
        buckets = torch.where((position < counts[:, None])[:, None], buckets, 2 * len(rotation))
        order = buckets.argsort(stable=True)  # [batch, heads, length]

        # Rows of the chunks, and those before them: [batch, heads, chunks, rows]
        rows = pad(order, (0, -length % self.chunk)).unflatten(2, (-1, self.chunk))
        chunks = rows.shape[2]
        place = torch.arange(chunks * self.chunk, device=x.device)
        is_valid = (place < counts[:, None]).unflatten(1, (chunks, self.chunk))[:, None]
        used_chunks = (-(-counts // self.chunk)).clamp(min=1)[:, None]
        before = (torch.arange(chunks, device=x.device) - 1) % used_chunks
        before = before[:, None, :, None]
        key_rows = torch.cat((rows, rows.take_along_dim(before, 2)), 3)
        # A chunk is not the one before itself.
        is_another = (used_chunks > 1)[..., None, None]
        is_key = torch.cat((is_valid, is_valid.take_along_dim(before, 2) & is_another), 3)

        distance = key_rows[..., None, :] - rows[..., :, None]
        hidden = ~is_key[..., None, :] | ((distance > 0) & self.causal)
        bias = torch.zeros(distance.shape, dtype=x.dtype, device=x.device)
        bias = bias.masked_fill(distance == 0, -5e4).masked_fill(hidden, -torch.inf)
        results = F.softmax_attention_with_state(
            rows_of(x, rows), rows_of(keys, key_rows), rows_of(v, key_rows), bias.flatten(0, 1)
        )
        place_of_row = order.argsort()[..., None]
        return tuple(
            t.unflatten(0, (batch, heads)).flatten(2, 3).take_along_dim(place_of_row, 2)
            for t in results
        )

    def extra_repr(self) -> str:
        rounds, half_of_buckets, _ = self.rotations.shape
        return f"heads={self.heads}, chunk={self.chunk}, rounds={rounds}, buckets={2 * half_of_buckets}"


def rows_of(x: Tensor, rows: Tensor) -> Tensor:
    """Gathers rows of x, [batch, heads, length, channels], for every chunk:
    [batch * heads, chunks, rows, channels]."""
    gathered = x.take_along_dim(rows.flatten(2)[..., None], 2)
    return gathered.unflatten(2, rows.shape[2:]).flatten(0, 1)
