# SPDX-License-Identifier: Apache-2.0
"""From the rows of a sample to the one row that its answer is read from."""
import torch
from torch import Tensor

POOLINGS = ("cls", "mean", "max", "flatten")


def pool(x: Tensor, how: str, lengths: Tensor | None) -> Tensor:
    """[batch, rows, width] to [batch, width], or, with `flatten`, to [batch, rows * width]: row 0
    (`cls`, the class token's), the mean or the greatest of the valid rows in every channel, or all
    rows side by side, padding included. A sample without rows has zeros."""
    if how == "cls":
        return x[:, 0]
    if how == "flatten":
        return x.flatten(1)
    if lengths is None:
        return x.mean(dim=1) if how == "mean" else x.max(dim=1).values
    valid = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None]
    if how == "mean":
        # Zeros and no products with 0: a padding row may hold anything.
        return torch.where(valid, x, 0).sum(dim=1) / lengths.clamp(min=1)[:, None]
    greatest = torch.where(valid, x, -torch.inf).max(dim=1).values
    return torch.where(lengths[:, None] > 0, greatest, 0)
