# SPDX-License-Identifier: Apache-2.0
"""csp, sinkhorn_csp and sinkhorn."""
from typing import Any

from ._arguments import as_array, as_lengths
from ._call import In, Out, as_attributes, call, operator
from ._library import csp_state


def _csp_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    state = Out(*csp_state(**dict(policies), shape=x.shape)) if save else None
    y, order = call("csp", [In(x), In(lengths)], [Out(x.shape, x.dtype), state], policies)
    return y, (order, lengths)


def _csp_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    order, lengths = saved
    (dx,) = call("csp_backward", [In(dy), In(order), In(lengths)], [Out(dy.shape, dy.dtype)], policies)
    return dx, None


_csp = operator(_csp_forward, _csp_backward)


def csp(x: Any, groups: str = "group_size{2}", shift: str = "linear", alignment: str = "reference{0}",
        lengths: Any = None) -> Any:
    """Channel-wise sample permutation: shifts the channels along the sequence, then sorts the rows of each group (CSP,
    eq. 3 to 5).

    x, y: `[batch, length, channels]`, dtypes as in `slicing_sort`. `groups`: `group_size{G}` or `group_count{K}`.
    `shift`: `none`, `linear`, `linear_step{step}`, `per_head{heads}`, `modular`, `power{layer, layers}`,
    `power_ceil{layer, layers}` or `table{..}`, a shift per channel. `alignment`: `reference{channel}`, or an order of
    `slicing_sort`."""
    return _csp(as_attributes(groups=groups, shift=shift, alignment=alignment), as_array("x", x),
                as_lengths("lengths", lengths))


def _sinkhorn_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    (y,) = call("sinkhorn_csp", [In(x), In(lengths)], [Out(x.shape, x.dtype)], policies)
    return y, (x, lengths)


def _sinkhorn_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    x, lengths = saved
    (dx,) = call("sinkhorn_csp_backward", [In(dy), In(x), In(lengths)], [Out(x.shape, x.dtype)], policies)
    return dx, None


_sinkhorn = operator(_sinkhorn_forward, _sinkhorn_backward)


def sinkhorn_csp(x: Any, tau: float, iterations: int = 10, groups: str = "group_size{2}", shift: str = "linear",
                 reference: int = 0, lengths: Any = None) -> Any:
    """CSP with Sinkhorn's algorithm instead of the sort (CSP, eq. 8 and 9): multiplies each group by a doubly stochastic
    matrix that depends on channel `reference`. x, y: `[batch, length, channels]`, float32 or float64. `tau` is the
    temperature."""
    return _sinkhorn(
        as_attributes(tau=float(tau), iterations=iterations, groups=groups, shift=shift, reference=reference),
        as_array("x", x), as_lengths("lengths", lengths))


def _matrix_forward(save: bool, policies: Any, logits: Any, lengths: Any, column_lengths: Any) -> Any:
    (y,) = call("sinkhorn", [In(logits), In(lengths), In(column_lengths)], [Out(logits.shape, logits.dtype)], policies)
    return y, (logits, lengths, column_lengths)


def _matrix_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    logits, lengths, column_lengths = saved
    (dlogits,) = call("sinkhorn_backward", [In(dy), In(logits), In(lengths), In(column_lengths)],
                      [Out(logits.shape, logits.dtype)], policies)
    return dlogits, None, None


_matrix = operator(_matrix_forward, _matrix_backward)


def sinkhorn(logits: Any, tau: float = 1.0, half_steps: int = 20, rows_last: bool = False, lengths: Any = None,
             column_lengths: Any = None) -> Any:
    """`exp(logits / tau)` after alternate normalizations of its rows (to 1) and columns (to rows / columns), `half_steps`
    in all, columns last unless `rows_last`; doubly stochastic after many. `half_steps=1, rows_last=True` is softmax.
    logits, y: `[batch, rows, columns]`. `lengths` and `column_lengths` are the valid rows and columns of each matrix."""
    return _matrix(as_attributes(tau=float(tau), half_steps=half_steps, rows_last=int(rows_last)),
                   as_array("logits", logits), as_lengths("lengths", lengths),
                   as_lengths("column_lengths", column_lengths))
