# SPDX-License-Identifier: Apache-2.0
"""multi_permutation: a weighted sum of powers of the sorting permutation."""
import torch

from .registration import accumulator_dtype, index_dtype, mark_saved_state, register, require_sequence, require_text


def _fake(x, weights, order="ascending", lengths=None):
    require_sequence(x)
    return torch.empty_like(x), torch.empty_like(x, dtype=index_dtype(x.size(1)))


def _save(ctx, inputs, output):
    x, weights, _, lengths = inputs
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(x, weights, output[1], lengths)


def _backward(ctx, dy, _):
    return *_multi_permutation_backward(dy, *ctx.saved_tensors), None, None


def _fake_backward(dy, x, weights, perm, lengths=None):
    return torch.empty_like(dy), torch.empty_like(weights)


_multi_permutation = register(
    "multi_permutation", fake=_fake, save=_save, backward=_backward, batched={0: 0, 3: 0}, outputs=(0, 0))
# dweights is a sum over the batch, so mapped slices cannot be folded into it.
_multi_permutation_backward = register("multi_permutation_backward", fake=_fake_backward, batched={}, outputs=(0, 0))


def multi_permutation(x, weights, order="ascending", lengths=None):
    """`y = sum over k = 1 .. components of weights[k - 1] * P^k x`, where P sorts each channel (Sliceformer's
    multi-permutation).

    x, y: `[batch, length, channels]`; weights: `[components]`, cast to float32, or to float64 if x is float64. Orders and
    dtypes as in `slicing_sort`.
    """
    require_text("order", order)
    return _multi_permutation(x, weights.to(accumulator_dtype(x)), order, lengths)[0]
