# SPDX-License-Identifier: Apache-2.0
"""Reference implementations of the operators in jax.numpy."""
from typing import Any

from common import jax, jnp, np


def multi_permutation(x: Any, weights: Any) -> Any:
    p, y = jnp.argsort(x, axis=1, stable=True), 0
    for a in weights:
        x = jnp.take_along_axis(x, p, axis=1)
        y = y + a * x
    return y


def soft_sort(x: Any, ranks: bool, strength: float) -> Any:
    """Soft sort or soft ranks with l2, by the min-max formula of isotonic regression."""
    length, signed = x.shape[1], x if ranks else -x
    rows = jnp.argsort(-signed, axis=1)
    s, w = jnp.take_along_axis(signed, rows, axis=1), jnp.arange(length, 0, -1, dtype=x.dtype).reshape(1, -1, 1)
    z = s / strength if ranks else jnp.broadcast_to(w / strength, s.shape)
    sums = jnp.pad(jnp.cumsum(z - (w if ranks else s), axis=1), ((0, 0), (1, 0), (0, 0)))
    counts = jnp.maximum(jnp.arange(1, length + 1) - jnp.arange(length)[:, None], 1)
    means = (sums[:, None, 1:] - sums[:, :-1, None]) / counts.reshape(1, length, length, 1)
    y = z - jnp.stack([means[:, :i + 1, i:].max(2).min(1) for i in range(length)], 1)
    return jnp.take_along_axis(y, jnp.argsort(rows, axis=1), axis=1) if ranks else -y


def short_convolution(x: Any, weights: Any, shift: int | None = None) -> Any:
    taps, length = weights.shape[1], x.shape[1]
    shift = taps - 1 if shift is None else shift
    padded = jnp.pad(x, ((0, 0), (shift, taps - 1 - shift), (0, 0)))
    weights = jnp.repeat(weights, x.shape[2] // weights.shape[0], axis=0)
    return sum(weights[:, k] * padded[:, k:k + length] for k in range(taps))


def decaying_sum(x: Any, a: Any, w: Any, is_complex: bool = False, is_reversed: bool = False) -> Any:
    """One direction; a: [numbers, channels] or [batch, numbers, length, channels]."""
    a = jnp.broadcast_to(a[None, :, None], (x.shape[0], a.shape[0], *x.shape[1:])) if a.ndim == 2 else a
    if is_complex:
        a, w = a[:, 0::2] + 1j * a[:, 1::2], w[0::2] + 1j * w[1::2]
    state, rows = jnp.zeros((), a.dtype), []
    for n in range(x.shape[1])[::-1 if is_reversed else 1]:
        state = a[:, :, n] * state + x[:, None, n]
        y = (w * state).sum(1)
        rows.append(2 * y.real if is_complex else y)
    return jnp.stack(rows[::-1 if is_reversed else 1], axis=1)


def decaying_sum_both(x: Any, a: Any, w: Any) -> Any:
    half = a.shape[0] // 2
    return decaying_sum(x, a[:half], w[:half], True) + decaying_sum(x, a[half:], w[half:], True, True)


def max_exchange(x: Any) -> Any:
    m = jnp.argmax(x, axis=1, keepdims=True)
    n = jnp.arange(x.shape[1])[None, :, None]
    first, maximum = x[:, :1], jnp.take_along_axis(x, m, axis=1)
    return jnp.where(n == 0, maximum, jnp.where(n == m, first, x))


def _shifted(x: Any, reference: int | None) -> Any:
    """Applies `shift::linear`; the reference channel is not shifted."""
    _, length, channels = x.shape
    shifts = np.array([(c + 1) * -(-length // channels) for c in range(channels)])
    if reference is not None:
        shifts[reference] = 0
    rows = (np.arange(length)[:, None] - shifts) % length
    return x[:, rows, np.arange(channels)]


def csp(x: Any, rows: int = 2) -> Any:
    w = _shifted(x, 0)
    groups = [w[:, first:first + rows] for first in range(0, x.shape[1], rows)]
    ranks = [jnp.argsort(jnp.argsort(g[:, :, :1], axis=1), axis=1) for g in groups]
    return jnp.concatenate([jnp.take_along_axis(jnp.sort(g, axis=1), r, axis=1) for g, r in zip(groups, ranks)],
                           axis=1)


def csp_ascending(x: Any, rows: int) -> Any:
    w = _shifted(x, None)
    return jnp.concatenate([jnp.sort(w[:, first:first + rows], axis=1) for first in range(0, x.shape[1], rows)],
                           axis=1)


def sinkhorn_csp(x: Any, tau: float, rows: int, iterations: int) -> Any:
    w = _shifted(x, 0)
    parts = []
    for first in range(0, x.shape[1], rows):
        group = w[:, first:first + rows]
        log_t = jnp.einsum("bi,bjc->bcij", group[:, :, 0], group) / tau
        for _ in range(iterations):
            log_t = log_t - jax.nn.logsumexp(log_t, axis=3, keepdims=True)
            log_t = log_t - jax.nn.logsumexp(log_t, axis=2, keepdims=True)
        mixed = jnp.einsum("bcij,bjc->bic", jnp.exp(log_t), group)
        parts.append(jnp.concatenate([group[:, :, :1], mixed[:, :, 1:]], axis=2))
    return jnp.concatenate(parts, axis=1)


def sinkhorn(logits: Any, tau: float, half_steps: int, rows_last: bool = False) -> Any:
    log_t = logits / tau
    for remaining in reversed(range(half_steps)):
        if (remaining % 2 == 0) == rows_last:
            log_t = log_t - jax.nn.logsumexp(log_t, axis=2, keepdims=True)
        else:
            log_t = log_t - jax.nn.logsumexp(log_t, axis=1, keepdims=True) + jnp.log(logits.shape[1] / logits.shape[2])
    return jnp.exp(log_t)


def sparse_mix(x: Any, w: Any, residual: str = "per_factor") -> Any:
    v = x
    for factor in w:
        z = sum(factor[:, :, k, None] * jnp.roll(v, -(0 if k == 0 else 2**(k - 1)), axis=1)
                for k in range(w.shape[3]))
        v = z + {"per_factor": v, "initial": x, "none": 0}[residual]
    return v


def softmax_attention(q: Any, k: Any, v: Any, bias: Any = 0, causal: bool = False) -> Any:
    s = jnp.einsum("bhic,bhjc->bhij", q, k) / np.sqrt(q.shape[3]) + bias
    if causal:
        s = jnp.where(np.tri(*s.shape[2:], dtype=bool), s, -jnp.inf)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s, axis=3), v)


def laplace(s: Any, mean: float = 0.707107, deviation: float = 0.282095) -> Any:
    return (1 + jax.scipy.special.erf((s - mean) / (deviation * np.sqrt(2)))) / 2


def squared_relu(s: Any) -> Any:
    return jax.nn.relu(s)**2


def pointwise_attention(q: Any, k: Any, v: Any, bias: Any = 0, function: Any = laplace, scale: float | None = None,
                        allowed: Any = 1) -> Any:
    s = jnp.einsum("bhic,bhjc->bhij", q, k) * (1 / np.sqrt(q.shape[3]) if scale is None else scale) + bias
    return jnp.einsum("bhij,bhjd->bhid", function(s) * allowed, v)


def _normalized(q: Any, k: Any, v: Any, causal: bool) -> Any:
    weights = jnp.einsum("bhir,bhjr->bhij", q, k)
    if causal:
        weights = weights * np.tri(*weights.shape[2:])
    return jnp.einsum("bhij,bhjd->bhid", weights, v) / (weights.sum(3, keepdims=True) + 1e-6)


def linear_attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    k, v = (jnp.repeat(a, q.shape[1] // a.shape[1], 1) for a in (k, v))
    return _normalized(jax.nn.elu(q) + 1, jax.nn.elu(k) + 1, v, causal)


def random_relu_attention(q: Any, k: Any, v: Any, w: Any) -> Any:
    scale = q.shape[3]**-0.25
    features = [jax.nn.relu(scale * jnp.einsum("bhic,hrc->bhir", a, w)) + 1e-3 for a in (q, k)]
    return _normalized(*features, v, False)
