# SPDX-License-Identifier: Apache-2.0
"""The models of examples/learning by their names."""
from collections.abc import Callable

from torch import nn

from .conventions import Site
from .csp import CSP
from .encoder import Encoder
from .no_mixing import NoMixing
from .settings import Settings
from .slicing_sort import SlicingSort
from .softmax_attention import SoftmaxAttention
from .sorting_variants import MaxExchange, MultiPermutation, Shuffle
from .sparse_mix import SparseMix

Maker = Callable[[Settings, Site], nn.Module]


def projections(s: Settings, at: Site) -> dict:
    return {
        "inner": s.inner or None,
        "value_bias": bool(s.input_bias),
        "out_bias": bool(s.out_bias),
        "rules": at.rules,
    }


def sorting(order: Callable[[Settings, Site], str]) -> Maker:
    return lambda s, at: SlicingSort(at.width, order(s, at), **projections(s, at))


def csp(shift: Callable[[Settings, Site], str], alignment: str) -> Maker:
    def make(s: Settings, at: Site) -> nn.Module:
        groups = f"group_size{{{s.group}}}" if s.group > 0 else "group_count{1}"
        return CSP(at.width, groups, shift(s, at), alignment, **projections(s, at))

    return make


def sparse_mix(topology: Callable[[Settings], str]) -> Maker:
    def make(s: Settings, at: Site) -> nn.Module:
        hidden = s.mixer_hidden or s.hidden
        return SparseMix(at.width, at.rows, topology(s), hidden, s.factors or None, rules=at.rules)

    return make


def attention(mask: Callable[[Settings], str]) -> Maker:
    def make(s: Settings, at: Site) -> nn.Module:
        return SoftmaxAttention(
            at.width,
            s.heads,
            mask(s),
            s.inner or None,
            s.attention_dropout,
            input_bias=bool(s.input_bias),
            out_bias=bool(s.out_bias),
            rules=at.rules,
        )

    return make


def window(s: Settings) -> str:
    size = s.reach or 512
    return f"window{{{size // 2 - 1}, {size - size // 2}}}"


# Some orders and shifts depend on the layer. Order-interleave counts layers from 1 and is finest in
# the first; the published code's is finest in the last.
SHIFTS: dict[str, Callable[[Settings, Site], str]] = {
    "none": lambda s, at: "none",
    "linear": lambda s, at: "linear",
    "linear-step": lambda s, at: "linear_step{2}",
    "per-head": lambda s, at: f"per_head{{{s.heads}}}",
    "modular": lambda s, at: "modular",
    "power": lambda s, at: f"power{{{at.layer}, {at.layers}}}",
    "power-ceil": lambda s, at: f"power_ceil{{{at.layer}, {at.layers}}}",
}
MODELS: dict[str, Maker] = {
    "sort-ascending": sorting(lambda s, at: "ascending"),
    "sort-descending": sorting(lambda s, at: "descending"),
    "sort-half-half": sorting(lambda s, at: f"half_half{{{s.heads}}}"),
    "sort-interleave": sorting(lambda s, at: f"interleave{{{at.layer + 1}, {at.layers}}}"),
    "sort-haar": sorting(lambda s, at: f"haar_interleave{{{at.layer}, {s.heads}}}"),
    "multi-permutation-2": lambda s, at: MultiPermutation(at.width, 2, **projections(s, at)),
    "multi-permutation-4": lambda s, at: MultiPermutation(at.width, 4, **projections(s, at)),
    "max-exchange": lambda s, at: MaxExchange(at.width, **projections(s, at)),
    "shuffle": lambda s, at: Shuffle(at.width, "per_channel", **projections(s, at)),
    "shuffle-rows": lambda s, at: Shuffle(at.width, "shared_by_channels", **projections(s, at)),
    "csp": csp(SHIFTS["linear"], "reference{0}"),
    "chord": sparse_mix(lambda s: f"chord{{{s.reach}}}" if s.reach > 0 else "chord"),
    "cdil": sparse_mix(lambda s: f"cdil{{{(s.reach - 1) // 2 if s.reach > 0 else 1}}}"),
    "softmax": attention(lambda s: "full"),
    "softmax-causal": attention(lambda s: "causal{0}"),
    "softmax-window": attention(window),
    "softmax-block-local": attention(lambda s: f"block_local{{{s.reach or 50}}}"),
    "softmax-strided": attention(lambda s: f"strided{{{s.reach or 50}, {s.reach or 50}}}"),
    "softmax-fixed": attention(lambda s: f"fixed{{{s.reach or 50}, {((s.reach or 50) + 4) // 5}}}"),
    "softmax-dilated-window": attention(
        lambda s: f"dilated_window{{{(s.reach or 512) // 2}, {(s.reach or 512) // 2}, 2}}"
    ),
    "softmax-global-window": attention(lambda s: f"global_{window(s)}"),
    "softmax-chunk-back": attention(lambda s: f"chunk_back{{{s.reach or 10}}}"),
    "softmax-bigbird": attention(lambda s: f"bigbird{{{s.reach or 64}, 3, 1, 3, {s.seed}}}"),
    "none": lambda s, at: NoMixing(at.width, s.mixer_hidden or s.hidden, at.rules),
}
for _name, _shift in SHIFTS.items():
    MODELS[f"csp-{_name}-reference"] = csp(_shift, "reference{0}")
    MODELS[f"csp-{_name}-ascending"] = csp(_shift, "ascending")


def encoder_of(s: Settings) -> Encoder:
    """The model that `slicesort_train` makes of these settings. Raises a ValueError where there is
    none of that name."""
    make = MODELS.get(s.model)
    if make is None:
        names = ", ".join(sorted(MODELS))
        raise ValueError(f"there is no model {s.model!r} in torch; there are {names}")
    return Encoder(
        s.shape,
        lambda at: make(s, at),
        width=s.width,
        layers=s.layers,
        hidden=s.hidden,
        head_hidden=s.head_hidden,
        block=s.block,
        positions=s.positions,
        pooling=s.pool,
        masks_padding=s.mask_padding != 0,
        rules=s.rules,
    )
