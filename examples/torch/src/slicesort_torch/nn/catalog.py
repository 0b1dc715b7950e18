# SPDX-License-Identifier: Apache-2.0
"""The models of examples/learning, by name."""
from collections.abc import Callable

from torch import nn

from .conventions import ParameterScope
from .csp import CSP
from .encoder import Encoder
from .linear_attention import CosformerAttention, LinearAttention
from .multi_head import MultiHead
from .no_mixing import NoMixing
from .recipes.linformer import LinformerAttention
from .recipes.long_short import LongShortAttention
from .recipes.nystromformer import NystromformerAttention
from .recipes.sinkformer import SinkformerAttention
from .recipes.sinkhorn_transformer import SinkhornTransformerAttention
from .recipes.synthesizer import SynthesizerAttention
from .settings import Settings
from .slicing_sort import SlicingSort
from .softmax_attention import SoftmaxAttention
from .sorting_variants import MaxExchange, MultiPermutation, Shuffle
from .sparse_mix import SparseMix

Maker = Callable[[Settings, ParameterScope], nn.Module]


def projections(settings: Settings, scope: ParameterScope) -> dict:
    return {
        "inner": settings.inner or None,
        "value_bias": bool(settings.input_bias),
        "out_bias": bool(settings.out_bias),
        "rules": scope.rules,
    }


def sorting_maker(order: Callable[[Settings, ParameterScope], str]) -> Maker:
    return lambda settings, scope: SlicingSort(scope.width, order(settings, scope), **projections(settings, scope))


def csp_maker(shift: Callable[[Settings, ParameterScope], str], alignment: str) -> Maker:
    def make(settings: Settings, scope: ParameterScope) -> nn.Module:
        groups = f"group_size{{{settings.group}}}" if settings.group > 0 else "group_count{1}"
        return CSP(scope.width, groups, shift(settings, scope), alignment, **projections(settings, scope))

    return make


def sparse_mix_maker(topology: Callable[[Settings], str]) -> Maker:
    def make(settings: Settings, scope: ParameterScope) -> nn.Module:
        hidden = settings.mixer_hidden or settings.hidden
        return SparseMix(
            scope.width, scope.rows, topology(settings), hidden, settings.factors or None, rules=scope.rules
        )

    return make


def heads_maker(
    module: type[MultiHead], options: Callable[[Settings, ParameterScope], dict] = lambda *_: {}
) -> Maker:
    def make(settings: Settings, scope: ParameterScope) -> nn.Module:
        return module(
            scope.width,
            heads=settings.heads,
            inner=settings.inner or None,
            input_bias=bool(settings.input_bias),
            out_bias=bool(settings.out_bias),
            rules=scope.rules,
            **options(settings, scope),
        )

    return make


def attention_maker(mask: Callable[[Settings], str]) -> Maker:
    return heads_maker(
        SoftmaxAttention,
        lambda settings, _: {"mask": mask(settings), "dropout": settings.attention_dropout},
    )


def linformer_maker(rank: int, one_per_head: bool, separate: bool) -> Maker:
    return heads_maker(
        LinformerAttention,
        lambda settings, scope: {
            "length": scope.rows,
            "rank": settings.rank or rank,
            "one_per_head": one_per_head,
            "separate": separate,
        },
    )


def nystromformer_maker(landmarks: int, taps: int) -> Maker:
    return heads_maker(
        NystromformerAttention,
        lambda settings, _: {"landmarks": settings.rank or landmarks, "taps": taps},
    )


def synthesizer_maker(form: str, has_scores: bool) -> Maker:
    return heads_maker(
        SynthesizerAttention,
        lambda settings, scope: {
            "length": scope.rows,
            "form": form,
            "has_scores": has_scores,
            "rank": settings.rank or 32,
        },
    )


class GooglePerformer(LinearAttention):
    """The Performer of the Long Range Arena, whose features are relu(x) + 1e-3."""

    feature = "relu{1e-3}"
    divisor = "sum_plus{0}"


def window_mask(settings: Settings) -> str:
    size = settings.reach or 512
    return f"window{{{size // 2 - 1}, {size - size // 2}}}"


def centered_window(size: int) -> str:
    return f"window{{{(size - 1) // 2}, {size // 2}}}"


# Order-interleave counts layers from 1 and is finest in the first layer; the variant of the
# published code (sort-haar) is finest in the last.
SHIFTS: dict[str, Callable[[Settings, ParameterScope], str]] = {
    "none": lambda settings, scope: "none",
    "linear": lambda settings, scope: "linear",
    "linear-step": lambda settings, scope: "linear_step{2}",
    "per-head": lambda settings, scope: f"per_head{{{settings.heads}}}",
    "modular": lambda settings, scope: "modular",
    "power": lambda settings, scope: f"power{{{scope.layer}, {scope.layers}}}",
    "power-ceil": lambda settings, scope: f"power_ceil{{{scope.layer}, {scope.layers}}}",
}
MODELS: dict[str, Maker] = {
    "sort-ascending": sorting_maker(lambda settings, scope: "ascending"),
    "sort-descending": sorting_maker(lambda settings, scope: "descending"),
    "sort-half-half": sorting_maker(lambda settings, scope: f"half_half{{{settings.heads}}}"),
    "sort-interleave": sorting_maker(lambda settings, scope: f"interleave{{{scope.layer + 1}, {scope.layers}}}"),
    "sort-haar": sorting_maker(lambda settings, scope: f"haar_interleave{{{scope.layer}, {settings.heads}}}"),
    "multi-permutation-2": lambda settings, scope: MultiPermutation(scope.width, 2, **projections(settings, scope)),
    "multi-permutation-4": lambda settings, scope: MultiPermutation(scope.width, 4, **projections(settings, scope)),
    "max-exchange": lambda settings, scope: MaxExchange(scope.width, **projections(settings, scope)),
    "shuffle": lambda settings, scope: Shuffle(scope.width, "per_channel", **projections(settings, scope)),
    "shuffle-rows": lambda settings, scope: Shuffle(scope.width, "shared_by_channels", **projections(settings, scope)),
    "csp": csp_maker(SHIFTS["linear"], "reference{0}"),
    "chord": sparse_mix_maker(lambda settings: f"chord{{{settings.reach}}}" if settings.reach > 0 else "chord"),
    "cdil": sparse_mix_maker(lambda settings: f"cdil{{{(settings.reach - 1) // 2 if settings.reach > 0 else 1}}}"),
    "softmax": attention_maker(lambda settings: "full"),
    "softmax-causal": attention_maker(lambda settings: "causal{0}"),
    "softmax-window": attention_maker(window_mask),
    "softmax-block-local": attention_maker(lambda settings: f"block_local{{{settings.reach or 50}}}"),
    "softmax-strided": attention_maker(lambda settings: f"strided{{{settings.reach or 50}, {settings.reach or 50}}}"),
    "softmax-fixed": attention_maker(lambda settings: f"fixed{{{settings.reach or 50}, {((settings.reach or 50) + 4) // 5}}}"),
    "softmax-dilated-window": attention_maker(
        lambda settings: f"dilated_window{{{(settings.reach or 512) // 2}, {(settings.reach or 512) // 2}, 2}}"
    ),
    "softmax-global-window": attention_maker(lambda settings: f"global_{window_mask(settings)}"),
    "softmax-chunk-back": attention_maker(lambda settings: f"chunk_back{{{settings.reach or 10}}}"),
    "softmax-bigbird": attention_maker(lambda settings: f"bigbird{{{settings.reach or 64}, 3, 1, 3, {settings.seed}}}"),
    "linear-transformer": heads_maker(LinearAttention),
    "performer-google": heads_maker(GooglePerformer),
    "cosformer": heads_maker(CosformerAttention),
    "linformer": linformer_maker(256, False, True),
    "linformer-google": linformer_maker(16, False, False),
    "linformer-nystromformer": linformer_maker(256, True, False),
    "linformer-lucidrains": linformer_maker(256, False, False),
    "nystromformer": nystromformer_maker(128, 35),
    "nystromformer-lucidrains": nystromformer_maker(256, 33),
    "long-short": heads_maker(
        LongShortAttention,
        lambda settings, _: {"rank": settings.rank or 32, "mask": centered_window(settings.reach or 17)},
    ),
    "synthesizer": synthesizer_maker("random", True),
    "synthesizer-random": synthesizer_maker("random", False),
    "synthesizer-factorized": synthesizer_maker("factorized", False),
    "synthesizer-dense": synthesizer_maker("dense", False),
    "sinkformer": heads_maker(SinkformerAttention),
    "sinkhorn-transformer": heads_maker(
        SinkhornTransformerAttention,
        lambda settings, scope: {"length": scope.rows, "block": settings.reach or 50},
    ),
    "none": lambda settings, scope: NoMixing(scope.width, settings.mixer_hidden or settings.hidden, scope.rules),
}
for _name, _shift in SHIFTS.items():
    MODELS[f"csp-{_name}-reference"] = csp_maker(_shift, "reference{0}")
    MODELS[f"csp-{_name}-ascending"] = csp_maker(_shift, "ascending")


def encoder_of(settings: Settings) -> Encoder:
    """Returns the model that `slicesort_train` builds from these settings. Raises a ValueError for
    an unknown name."""
    make = MODELS.get(settings.model)
    if make is None:
        names = ", ".join(sorted(MODELS))
        raise ValueError(f"there is no model {settings.model!r} in torch; there are {names}")
    return Encoder(
        settings.shape,
        lambda scope: make(settings, scope),
        width=settings.width,
        layers=settings.layers,
        hidden=settings.hidden,
        head_hidden=settings.head_hidden,
        block=settings.block,
        positions=settings.positions,
        pooling=settings.pool,
        masks_padding=settings.mask_padding != 0,
        rules=settings.rules,
    )
