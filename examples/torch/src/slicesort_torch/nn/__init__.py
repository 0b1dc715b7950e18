# SPDX-License-Identifier: Apache-2.0
"""Modules under the papers' names. They are the layers of examples/learning, whose checkpoints
`slicesort_torch.checkpoint` loads."""
import warnings

from .block import Block
from .conventions import Conventions, ParameterScope
from .csp import CSP
from .encoder import Encoder, SampleShape
from .linear_attention import (
    CosformerAttention,
    LinearAttention,
    PerformerAttention,
    RandomFeatureAttention,
)
from .mlp import MLP
from .multi_head import MultiHead
from .no_mixing import NoMixing
from .papers import ParamixerBlock, SliceformerBlock
from .projected import Projected
from .recipes.linformer import LinformerAttention
from .recipes.long_short import LongShortAttention
from .recipes.nystromformer import NystromformerAttention
from .recipes.reformer import ReformerAttention
from .recipes.sinkformer import SinkformerAttention
from .recipes.sinkhorn_transformer import SinkhornTransformerAttention
from .recipes.synthesizer import SynthesizerAttention
from .slicing_sort import SlicingSort
from .softmax_attention import SoftmaxAttention
from .sorting_variants import MaxExchange, MultiPermutation, Shuffle
from .sparse_mix import SparseMix

__all__ = [
    "CSP",
    "MLP",
    "Block",
    "Conventions",
    "CosformerAttention",
    "Encoder",
    "LinearAttention",
    "LinformerAttention",
    "LongShortAttention",
    "MaxExchange",
    "MultiHead",
    "MultiPermutation",
    "NoMixing",
    "NystromformerAttention",
    "ParameterScope",
    "ParamixerBlock",
    "PerformerAttention",
    "Projected",
    "RandomFeatureAttention",
    "ReformerAttention",
    "SampleShape",
    "Shuffle",
    "SinkformerAttention",
    "SinkhornTransformerAttention",
    "SliceformerBlock",
    "SlicingSort",
    "SoftmaxAttention",
    "SparseMix",
    "SynthesizerAttention",
]


def __getattr__(name: str) -> type:
    if name == "Site":
        warnings.warn("Site is deprecated: use ParameterScope", DeprecationWarning, stacklevel=2)
        return ParameterScope
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
