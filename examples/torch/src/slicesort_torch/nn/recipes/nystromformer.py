# SPDX-License-Identifier: Apache-2.0
"""Nystromformer's attention."""
import torch
from torch import Tensor

from ... import functional as F
from ..conventions import Conventions, require_int
from ..multi_head import MultiHead, zero_padding


def segment_means(counts: Tensor, segments: int, rows: int) -> Tensor:
    """Returns matrices [batch, 1, segments, rows] that compute the means of segments of the first
    counts[b] rows. A sample with fewer rows has a segment for each; the others are zero."""
    counts = counts[:, None, None, None]
    used = counts.clamp(min=1, max=segments)
    t = torch.arange(segments, device=counts.device)[:, None]
    row = torch.arange(rows, device=counts.device)
    is_member = (t * counts // used <= row) & (row < (t + 1) * counts // used) & (row < counts)
    return is_member / is_member.sum(-1, keepdim=True).clamp(min=1)


def pseudo_inverse(a: Tensor, steps: int) -> Tensor:
    """Newton's iteration for the pseudo-inverse of matrices [.., n, n] whose rows sum to 1 or are
    zero (Nystromformer, eq. 11). Every matrix is divided by its own largest column sum."""
    largest = a.sum(-2, keepdim=True).amax(-1, keepdim=True)
    z = a.mT / largest.masked_fill(largest == 0, 1)
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(steps):
        x = a @ z
        z = z @ (13 * identity - x @ (15 * identity - x @ (7 * identity - x))) / 4
    return z


class NystromformerAttention(MultiHead):
    """y = W_O (softmax(Q Km^T) pinv(softmax(Qm Km^T)) softmax(Qm K^T) V + conv(V)), where all scores
    are divided by sqrt(D), and the landmarks Qm and Km are means of segments of queries and keys
    (Nystromformer, eq. 13): [batch, length, width] to the same shape.

    landmarks: number of segments; a sample with fewer rows has a landmark for each.
    taps: rows of the convolution, which is centered. Its filters, [heads, 1, taps], are the
        parameter `filters`.
    newton_steps: iterations of the pseudo-inverse.
    Other arguments as in `MultiHead`.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        landmarks: int = 128,
        taps: int = 35,
        newton_steps: int = 6,
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        super().__init__(width, heads, rules=rules, **projections)
        self.landmarks = require_int("landmarks", landmarks)
        self.newton_steps = require_int("newton_steps", newton_steps)
        require_int("taps", taps)
        self.filters = rules.parameter(heads, 1, taps, inputs=taps, outputs=taps)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        rows = q.shape[2]
        counts = torch.full(q.shape[:1], rows, device=q.device) if lengths is None else lengths
        means = segment_means(counts, self.landmarks, rows).to(q.dtype)
        used = counts.clamp(max=self.landmarks)
        q_mean, k_mean = (means @ zero_padding(t, lengths) for t in (q, k))
        # The map itself is attention with the identity as values.
        identity = torch.eye(self.landmarks, dtype=q.dtype, device=q.device)
        identity = identity.expand(*q.shape[:2], -1, -1)
        attention_map = F.softmax_attention(q_mean, k_mean, identity, lengths=used, query_lengths=used)
        context = F.softmax_attention(q_mean, k, v, lengths=lengths)
        values = pseudo_inverse(attention_map, self.newton_steps) @ context
        y = F.softmax_attention(q, k_mean, values, lengths=used, query_lengths=lengths)
        return y + self.convolve(v, lengths)

    def convolve(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        """Convolves the values along the length with a filter for each head."""
        taps = self.filters.shape[2]
        y = F.short_convolution(
            v.transpose(1, 2).flatten(2), self.filters[:, 0], (taps - 1) // 2, lengths
        )
        return y.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, landmarks={self.landmarks}"
