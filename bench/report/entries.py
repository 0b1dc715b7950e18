# SPDX-License-Identifier: Apache-2.0
"""Entries of the arena, in the order of the tables, with their labels and colors."""
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .results import Case

PLAIN_LOOPS = "plain loops"  # `blas` of a program without BLAS
CUSTOM_FAMILY = "custom"
CUSTOM_POLICY = "custom"  # of user-defined operators and of recipes
FAMILIES = ("sort and permute", "sparse factors", "softmax", "pointwise", "sparse masks", "linear", "low rank", "hashing",
            "doubly stochastic", "recurrences")  # in the order of the tables


@dataclass(frozen=True)
class Entry:
    family: str
    subject: str
    policy: str  # a regular expression
    label: str
    color: str
    in_16_bits: bool = False  # --all includes bfloat16
    is_custom: bool = False  # user-defined: bench/run --with, or a program that links slicesort::bench
    is_default: bool = False  # measured without --all
    hint: str = ""  # possible reason for being slower than softmax attention

    @property
    def is_emphasized(self) -> bool:
        """True if pictures emphasize it: user-defined operators and slicing-sort."""
        return self.is_custom or (self.subject, self.policy) == ("slicing_sort", "ascending")

    @property
    def source(self) -> str:
        """The file of bench/cases/host that registers it, or `recipes`: the files of bench/cases/recipes."""
        return "recipes" if self.policy == CUSTOM_POLICY else self.subject.removesuffix("_mega")

    def matches(self, case: Case) -> bool:
        return case.subject == self.subject and re.fullmatch(self.policy, case.policy) is not None


REFERENCE = Entry("softmax", "softmax_attention", "streaming-full-H:\\d+", "softmax, streaming", "#222222", True, is_default=True)
ENTRIES = [
    Entry("sort and permute", "slicing_sort", "ascending", "slicing-sort", "#0b6e99", True, is_default=True),
    Entry("sort and permute", "slicing_sort", "interleave", "slicing-sort, interleave", "#5fb0d3"),
    Entry("sort and permute", "soft_sort", "ascending", "soft slicing-sort, strength 362", "#2d9cdb"),
    Entry("sort and permute", "max_exchange", "ascending", "max-exchange", "#5b8c3a", is_default=True),
    Entry("sort and permute", "multi_permutation", "ascending", "multi-permutation, K = 2", "#c8553d", is_default=True),
    Entry("sort and permute", "csp", "linear-reference-G:2", "CSP, pairs", "#d9a404", True, is_default=True),
    Entry("sort and permute", "csp", "linear-reference-G:16", "CSP, groups of 16", "#8a6a00"),
    Entry("sort and permute", "mega_csp", CUSTOM_POLICY, "MEGA with CSP", "#b5895a", is_default=True),
    Entry("sparse factors", "sparse_mix", "chord-per_factor-M:\\d+", "CHORD", "#b0307a", True, is_default=True),
    Entry("sparse factors", "sparse_mix", "cdil-per_factor-M:\\d+", "CDIL", "#3a4f8f", is_default=True),
    REFERENCE,
    Entry("softmax", "softmax_attention", "streaming-causal-H:\\d+", "softmax, causal", "#555f6b"),
    Entry("softmax", "softmax_attention", "native-full-H:\\d+", "softmax, native products", "#d06a1b", True),
    Entry("softmax", "softmax_attention", "materialized-full-H:\\d+", "softmax, materialized", "#777777", is_default=True,
          hint="the map of weights is stored and loaded"),
    Entry("softmax", "synthesizer", CUSTOM_POLICY, "Synthesizer", "#4f6d7a", is_default=True),
    Entry("softmax", "mega", CUSTOM_POLICY, "MEGA", "#b0413e", is_default=True),
    Entry("pointwise", "pointwise_attention", "laplace-full-H:\\d+", "pointwise, Laplace", "#c2185b", is_default=True),
    Entry("pointwise", "pointwise_attention", "squared_relu-full-H:\\d+", "pointwise, squared ReLU", "#e07a9b"),
    Entry("sparse masks", "mega_chunk", CUSTOM_POLICY, "MEGA, chunks of 128", "#d98880", is_default=True),
    Entry("sparse masks", "softmax_attention", "streaming-window-H:\\d+", "softmax, window of 512", "#9a7fc4", True, is_default=True),
    Entry("sparse masks", "softmax_attention", "streaming-window_globals-H:\\d+", "softmax, window of 512 and 8 globals", "#7d5bb0"),
    Entry("sparse masks", "softmax_attention", "streaming-block_local-H:\\d+", "softmax, blocks of 50", "#c9b3e6"),
    Entry("sparse masks", "softmax_attention", "streaming-strided-H:\\d+", "softmax, strided by N / 50", "#a39bd0",
          hint="adjacent queries see different keys, so each tile has few visible pairs"),
    Entry("sparse masks", "softmax_attention", "streaming-causal_fixed-H:\\d+", "softmax, causal, fixed by 50 and 10", "#8f86a8"),
    Entry("sparse masks", "softmax_attention", "streaming-bigbird-H:\\d+", "softmax, BigBird of 64", "#6a4c93", is_default=True),
    Entry("sparse masks", "spade", CUSTOM_POLICY, "SPADE, window of 128", "#5d6fc4", is_default=True),
    Entry("linear", "linear_attention", "elu_plus_one-both-H:\\d+", "Linear Transformer", "#2a8f7a", True, is_default=True),
    Entry("linear", "linear_attention", "elu_plus_one-causal-H:\\d+", "Linear Transformer, causal", "#6fbfae"),
    Entry("linear", "linear_attention", "random_exp-both-H:\\d+", "Performer, D ln D features", "#b85c00", True, is_default=True),
    Entry("linear", "linear_attention", "random_exp-causal-H:\\d+", "Performer, causal", "#dd9a55"),
    Entry("linear", "linear_attention", "cosine_reweighted-both-H:\\d+", "cosFormer", "#a03c52", is_default=True),
    Entry("linear", "linear_attention", "random_fourier-both-H:\\d+", "RFA", "#567a2b", is_default=True),
    Entry("low rank", "linformer", CUSTOM_POLICY, "Linformer, rank 256", "#1f6fb2", is_default=True),
    Entry("low rank", "nystromformer", CUSTOM_POLICY, "Nystromformer, 128 landmarks", "#4b8fd0", is_default=True),
    Entry("low rank", "long_short", CUSTOM_POLICY, "Transformer-LS", "#7f4fb5", is_default=True),
    Entry("hashing", "reformer", CUSTOM_POLICY, "Reformer, 4 rounds", "#b5532a", is_default=True),
    Entry("doubly stochastic", "sinkformer", CUSTOM_POLICY, "Sinkformer", "#2e7d5b", is_default=True),
    Entry("doubly stochastic", "sinkhorn_transformer", CUSTOM_POLICY, "Sinkhorn Transformer", "#5aa67f", is_default=True),
    Entry("recurrences", "decaying_sum", "ascending", "decaying sum, 1 state", "#0f5c69", is_default=True),
    Entry("recurrences", "decaying_sum_mega", "ascending", "decaying sum, 16 states, both ways", "#7fb8c2"),
    Entry("recurrences", "s4d", CUSTOM_POLICY, "S4D, 4 states", "#17798a", is_default=True),
    Entry("recurrences", "s5", CUSTOM_POLICY, "S5, 64 states", "#2f8f6f", is_default=True),
    Entry("recurrences", "etsmlp", CUSTOM_POLICY, "ETSMLP", "#46a5b5", is_default=True),
]
CUSTOM_COLORS = ("#e6007e", "#00a651", "#7a00e6", "#ff6a00", "#00b8d4", "#a8b400")
MATERIALIZED = next(entry for entry in ENTRIES if entry.policy.startswith("materialized"))
DIRECTIONS = {"forward_values": "forward", "training": "forward + backward"}  # labels by the names in cases


def entry_of(case: Case) -> Entry | None:
    """Returns the entry of a case, or None. Adds a user-defined operator to ENTRIES at its first case, before the library's entries."""
    known = next((c for c in ENTRIES if c.matches(case)), None)
    if known or case.policy != CUSTOM_POLICY:
        return known
    i = sum(c.is_custom for c in ENTRIES)
    ENTRIES.insert(i, Entry(CUSTOM_FAMILY, case.subject, CUSTOM_POLICY, case.subject, CUSTOM_COLORS[i % len(CUSTOM_COLORS)], in_16_bits=True, is_custom=True))
    return ENTRIES[i]


def weak_baseline_warning(context: dict, cases: Iterable[Case]) -> str:
    """Returns a warning if the BLAS of materialized attention does not use this CPU's instructions, else an empty string."""
    no_blas = context.get("blas") == PLAIN_LOOPS
    if not (no_blas or context.get("weak_blas")) or not any(map(MATERIALIZED.matches, cases)):
        return ""
    if no_blas:
        return (f"WARNING: no optimized BLAS was found: {MATERIALIZED.label} multiplies by plain loops and is a weak baseline. "
                "Debian: apt-get install libopenblas-dev")
    return f"WARNING: {MATERIALIZED.label} is a weak baseline: {context['blas']}: {context['weak_blas']}."


def label_of(entry: Entry, context: dict) -> str:
    """Returns the label for the tables, which names the BLAS of materialized attention."""
    blas = context.get("blas", "")
    name = PLAIN_LOOPS if blas == PLAIN_LOOPS else blas.partition(" ")[0]
    return f"{entry.label} ({name})" if entry == MATERIALIZED and name else entry.label


def find_softmax_case(case: Case, cases: dict[str, Case], mask: str) -> Case | None:
    """Finds the case of streaming softmax attention with that mask and otherwise the same parameters. For an operator without
    heads, it has the first number of heads."""
    heads = case.policy.rpartition("-H:")
    policy = f"streaming-{mask}-H:" + (heads[2] if heads[1] else "\\d+")
    parts = case.name.split("/")
    expression = re.compile("/".join([REFERENCE.subject, *map(re.escape, parts[1:4]), policy, *map(re.escape, parts[5:])]))
    return next((other for name, other in cases.items() if expression.fullmatch(name)), None)


def reference_of(case: Case, cases: dict[str, Case]) -> Case | None:
    return find_softmax_case(case, cases, "full")


def torch_implementations_of(case: Case) -> list[str]:
    """Returns the names of a case's PyTorch implementations (in_torch/implementations.py); none for user-defined operators."""
    if case.policy == CUSTOM_POLICY:
        return []
    if case.subject == "softmax_attention":
        mask = case.policy.split("-")[1]
        if mask == "bigbird":
            return []
        if mask == "causal":
            return ["torch_sdpa_causal"]
        tiled = case.policy.startswith(("streaming", "native"))
        return ["torch_sdpa_masked" if mask != "full" else "torch_sdpa_flash" if tiled else "torch_sdpa_math"]
    if case.subject == "linear_attention":
        return ["torch_matmul", "torch_einsum"] if "-both-" in case.policy else ["torch_loop", "torch_tiles"]
    if case.subject == "pointwise_attention":
        return ["torch_pointwise"] if "-full-" in case.policy else []
    known = {"sparse_mix": ["torch_roll", "torch_gather"], "csp": ["torch_gather_sort"], "max_exchange": ["torch_max_scatter"],
             "multi_permutation": ["torch_sort_gather"], "decaying_sum": ["torch_fft"], "decaying_sum_mega": ["torch_fft"],
             "slicing_sort": ["torch_signed_sort"] if case.policy == "interleave" else ["torch_stable_sort", "torch_sort"]}
    return known.get(case.subject, [])
