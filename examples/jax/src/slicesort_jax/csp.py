# SPDX-License-Identifier: Apache-2.0
"""csp and sinkhorn_csp."""
from typing import Any

from ._arguments import array, lengths as as_lengths
from ._call import In, Out, call, operator, policies
from ._library import csp_state


def _csp_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    state = Out(*csp_state(**dict(policies), shape=x.shape)) if save else None
    y, order = call("csp", [In(x), In(lengths)], [Out(x.shape, x.dtype), state], policies)
    return y, (order, lengths)


def _csp_backward(policies: Any, saved: Any, wanted: Any, dy: Any) -> Any:
    order, lengths = saved
    (dx,) = call("csp_back", [In(dy), In(order), In(lengths)], [Out(dy.shape, dy.dtype)], policies)
    return dx, None


_csp = operator(_csp_forward, _csp_backward)


def csp(x: Any, groups: str = "group_size{2}", shift: str = "linear", alignment: str = "reference{0}",
        lengths: Any = None) -> Any:
    """Channels shifted along the sequence, then the rows of every group put in order."""
    return _csp(policies(groups=groups, shift=shift, alignment=alignment), array("x", x),
                as_lengths("lengths", lengths))


def _sinkhorn_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    (y,) = call("sinkhorn_csp", [In(x), In(lengths)], [Out(x.shape, x.dtype)], policies)
    return y, (x, lengths)


def _sinkhorn_backward(policies: Any, saved: Any, wanted: Any, dy: Any) -> Any:
    x, lengths = saved
    (dx,) = call("sinkhorn_csp_back", [In(dy), In(x), In(lengths)], [Out(x.shape, x.dtype)], policies)
    return dx, None


_sinkhorn = operator(_sinkhorn_forward, _sinkhorn_backward)


def sinkhorn_csp(x: Any, tau: float, iterations: int = 10, groups: str = "group_size{2}", shift: str = "linear",
                 reference: int = 0, lengths: Any = None) -> Any:
    """The entropic relaxation of csp: a doubly stochastic matrix mixes the rows of a group."""
    how = policies(tau=float(tau), iterations=iterations, groups=groups, shift=shift, reference=reference)
    return _sinkhorn(how, array("x", x), as_lengths("lengths", lengths))
