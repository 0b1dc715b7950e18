# SPDX-License-Identifier: Apache-2.0
"""Modules by the papers' names, which are the layers of examples/learning: a checkpoint that its
program wrote is a model of these (`slicesort_torch.checkpoint`)."""
from .block import Block
from .conventions import Conventions, Site
from .csp import CSP
from .encoder import Encoder, SampleShape
from .mlp import MLP
from .no_mixing import NoMixing
from .papers import ParamixerBlock, SliceformerBlock
from .projected import Projected
from .slicing_sort import SlicingSort
from .softmax_attention import SoftmaxAttention
from .sorting_variants import MaxExchange, MultiPermutation, Shuffle
from .sparse_mix import SparseMix

__all__ = [
    "CSP",
    "MLP",
    "Block",
    "Conventions",
    "Encoder",
    "MaxExchange",
    "MultiPermutation",
    "NoMixing",
    "ParamixerBlock",
    "Projected",
    "SampleShape",
    "Shuffle",
    "Site",
    "SliceformerBlock",
    "SlicingSort",
    "SoftmaxAttention",
    "SparseMix",
]
