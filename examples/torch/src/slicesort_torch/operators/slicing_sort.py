# SPDX-License-Identifier: Apache-2.0
"""slicing_sort, and permute, which applies a saved permutation."""
import torch

from ..library import ops
from .registration import index_dtype, mark_saved_state, needs_saved_state, register, require_sequence, require_text


def _fake_sort(x, order="ascending", save=True, lengths=None):
    require_sequence(x)
    dtype = index_dtype(x.size(1))
    return torch.empty_like(x), torch.empty_like(x, dtype=dtype) if save else x.new_empty((0, 0, 0), dtype=dtype)


def _save_sort(ctx, inputs, output):
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(output[1], inputs[3])


def _backward_sort(ctx, dy, _):
    perm, lengths = ctx.saved_tensors
    return _slicing_sort_backward(dy, perm, lengths), None, None, None


def _fake_like(x, perm, lengths=None):
    require_sequence(x)
    return torch.empty_like(x)


def _save_permutation(ctx, inputs, output):
    ctx.save_for_backward(inputs[1], inputs[2])


def _backward_permute(ctx, dy):
    return _slicing_sort_backward(dy, *ctx.saved_tensors), None, None


def _backward_unpermute(ctx, dy):
    return _permute(dy, *ctx.saved_tensors), None, None


_slicing_sort = register(
    "slicing_sort", fake=_fake_sort, save=_save_sort, backward=_backward_sort, batched={0: 0, 3: 0}, outputs=(0, 0))
_slicing_sort_backward = register(
    "slicing_sort_backward", fake=_fake_like, save=_save_permutation, backward=_backward_unpermute,
    batched={0: 0, 1: 0, 2: 0})
_permute = register(
    "permute", fake=_fake_like, save=_save_permutation, backward=_backward_permute, batched={0: 0, 1: 0, 2: 0})


def slicing_sort(x, order="ascending", lengths=None):
    """Sorts every channel of every sample along the length: `y[b, :, c] = sort(x[b, :, c])` (Sliceformer, eq. 4).

    x, y: `[batch, length, channels]`, float32, float64, float16 or bfloat16. NaN sorts above +inf, -0 equals 0, and
    ties keep the lower row first. `order`: `ascending`, `descending`, `half_half{heads}`, `interleave{layer, layers}`
    or `haar_interleave{level, heads}`. Twice differentiable.
    """
    require_text("order", order)
    return _slicing_sort(x, order, needs_saved_state(x), lengths)[0]


def slicing_sort_with_permutation(x, order="ascending", lengths=None, index_dtype=None):
    """Returns the sorted tensor and the stable argsort `perm`: `y[n] = x[perm[n]]`. `perm` is uint16 up to 65536 rows, else
    int32; `permute` accepts both. Pass `index_dtype=torch.int64` to use it with `torch.gather`."""
    require_text("order", order)
    if index_dtype not in (None, torch.int32, torch.int64):
        raise ValueError(f"index_dtype is {index_dtype}, must be None, torch.int32 or torch.int64")
    y, perm = _slicing_sort(x, order, True, lengths)
    return y, perm if index_dtype is None else perm.to(index_dtype)


# Permute with index validation, for indices from the caller. A custom op, so that the check also runs under
# torch.compile.
_library = torch.library.Library("slicesort", "FRAGMENT")
_library.define("checked_permute(Tensor x, Tensor perm, Tensor? lengths=None) -> Tensor")


def _check_indices(perm, rows, lengths):
    """Raises an IndexError if an index in a valid row is not below its sample's length. On a GPU this is a device
    assertion, as in `torch.gather`."""
    is_uint16 = perm.dtype is torch.uint16
    if is_uint16 and rows >= 65536 and lengths is None:
        return
    # torch supports few operations on unsigned integers, and an expression casts Python numbers to the tensor's dtype.
    if is_uint16:
        signed = perm.view(torch.int16) if rows < 2**15 else perm.to(torch.int32)
    else:
        signed = perm if perm.dtype is torch.int32 and rows < 2**31 else perm.to(torch.int64)
    end = rows if lengths is None else lengths[:, None, None]
    if lengths is None and not perm.is_cuda:
        smallest, largest = torch.aminmax(signed)
        if smallest >= 0 and largest < rows:
            return
    out_of_range = (signed < 0) | (signed >= end)
    if lengths is not None:
        out_of_range &= torch.arange(rows, device=perm.device)[:, None] < end
    if perm.is_cuda:
        torch._assert_async(~out_of_range.any(), "perm: an index is out of range")
    elif out_of_range.any():
        position = out_of_range.nonzero()[0].tolist()
        row = perm.to(torch.int64)[tuple(position)].item()
        last = (rows if lengths is None else lengths[position[0]].item()) - 1
        raise IndexError(f"perm{position} is {row}, must be in 0..{last} (length)")


def _as_index(perm):
    """Converts checked indices to a dtype that the operator takes."""
    return perm.to(torch.int32) if perm.dtype is torch.int64 else perm


def _checked_permute_impl(x, perm, lengths=None):
    has_index_dtype = perm.dtype in (torch.uint16, torch.int32, torch.uint32, torch.int64)
    has_valid_lengths = lengths is None or lengths.dtype is torch.int64 and lengths.shape == x.shape[:1]
    if x.dim() == 3 and perm.shape == x.shape and perm.numel() > 0 and has_index_dtype and has_valid_lengths:
        _check_indices(perm, x.size(1), lengths)  # the operator checks everything else
    return ops.permute(x, _as_index(perm), lengths)


_library.impl("checked_permute", _checked_permute_impl, "CompositeExplicitAutograd")


def _save_checked(ctx, inputs, output):
    ctx.save_for_backward(_as_index(inputs[1]), inputs[2])


_checked_permute = register(
    "checked_permute", fake=_fake_like, save=_save_checked, backward=_backward_permute, batched={0: 0, 1: 0, 2: 0})


def permute(x, perm, lengths=None):
    """`y[b, n, c] = x[b, perm[b, n, c], c]`. `perm` comes from a sort or from `torch.argsort`: uint16, int32, uint32 or
    int64. Raises an IndexError for an index out of range."""
    return _checked_permute(x, perm, lengths)
