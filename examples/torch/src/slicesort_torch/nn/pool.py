# SPDX-License-Identifier: Apache-2.0
"""Pooling: reduces the rows of a sample to one."""
import torch
from torch import Tensor

POOLINGS = ("cls", "mean", "max", "flatten")


def pool(x: Tensor, pooling: str, lengths: Tensor | None) -> Tensor:
    """[batch, rows, width] to [batch, width]: row 0 (`cls`, the class token), or the `mean` or
    `max` of the valid rows per channel. `flatten` concatenates all rows, padding included, to
    [batch, rows * width]. The output of a sample without valid rows is zero."""
    if pooling == "cls":
        return x[:, 0]
    if pooling == "flatten":
        return x.flatten(1)
    if lengths is None:
        return x.mean(dim=1) if pooling == "mean" else x.max(dim=1).values
    valid = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None]
    if pooling == "mean":
        # Selects zeros instead of multiplying by 0: a padding row may hold NaN.
        return torch.where(valid, x, 0).sum(dim=1) / lengths.clamp(min=1)[:, None]
    maximum = torch.where(valid, x, -torch.inf).max(dim=1).values
    return torch.where(lengths[:, None] > 0, maximum, 0)
