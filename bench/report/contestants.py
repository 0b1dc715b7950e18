# SPDX-License-Identifier: Apache-2.0
"""Who takes part in the arena, in the order of the tables, and how the pictures show it."""
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .results import Case

PLAIN_LOOPS = "plain loops"  # what the program calls it when it has no BLAS
# Subjects of the arena, in the order of the tables.
FAMILIES = {"slicing_sort": "sorts", "max_exchange": "sorts", "multi_permutation": "sorts", "csp": "channel-wise permutation",
            "sparse_mix": "sparse factors", "linear_attention": "linear attention", "softmax_attention": "softmax attention"}


@dataclass(frozen=True)
class Contestant:
    subject: str
    policy: str  # a regular expression
    label: str
    color: str
    in_16_bits: bool = False  # takes part with bfloat16, too
    own: bool = False  # user-defined: bench/run --with, or a program that links slicesort::bench
    main: bool = False  # stands for its method where not all are asked for
    hint: str = ""  # why it may be slower than softmax attention

    @property
    def family(self) -> str:
        return "yours" if self.own else FAMILIES[self.subject]

    @property
    def strong(self) -> bool:
        """Drawn above the others: somebody's own is what he looks for, slicing-sort is what this library is about."""
        return self.own or (self.subject, self.policy) == ("slicing_sort", "ascending")

    def matches(self, case: Case) -> bool:
        return case.subject == self.subject and re.fullmatch(self.policy, case.policy) is not None


REFERENCE = Contestant("softmax_attention", "streaming-full-H:\\d+", "softmax, streaming", "#222222", True, main=True)
CONTESTANTS = [
    Contestant("slicing_sort", "ascending", "slicing-sort", "#0b6e99", True, main=True),
    Contestant("slicing_sort", "interleave", "slicing-sort, interleave", "#5fb0d3"),
    Contestant("max_exchange", "ascending", "max-exchange", "#5b8c3a", main=True),
    Contestant("multi_permutation", "ascending", "multi-permutation, K = 2", "#c8553d", main=True),
    Contestant("csp", "linear-reference-G:2", "CSP, pairs", "#d9a404", True, main=True),
    Contestant("csp", "linear-reference-G:16", "CSP, groups of 16", "#8a6a00"),
    Contestant("sparse_mix", "chord-per_factor-M:\\d+", "CHORD", "#b0307a", True, main=True),
    Contestant("sparse_mix", "cdil-per_factor-M:\\d+", "CDIL", "#3a4f8f", main=True),
    Contestant("linear_attention", "elu_plus_one-both-H:\\d+", "Linear Transformer", "#2a8f7a", True, main=True),
    Contestant("linear_attention", "elu_plus_one-causal-H:\\d+", "Linear Transformer, causal", "#6fbfae"),
    Contestant("linear_attention", "random_exp-both-H:\\d+", "Performer, D ln D features", "#b85c00", True, main=True),
    Contestant("linear_attention", "random_exp-causal-H:\\d+", "Performer, causal", "#dd9a55"),
    Contestant("linear_attention", "cosine_reweighted-both-H:\\d+", "cosFormer", "#a03c52", main=True),
    Contestant("linear_attention", "random_fourier-both-H:\\d+", "RFA", "#567a2b", main=True),
    REFERENCE,
    Contestant("softmax_attention", "streaming-causal-H:\\d+", "softmax, causal", "#555f6b"),
    Contestant("softmax_attention", "native-full-H:\\d+", "softmax, native products", "#d06a1b", True),
    Contestant("softmax_attention", "materialized-full-H:\\d+", "softmax, materialized", "#777777", main=True,
               hint="the whole map of weights is written to memory and read again"),
    Contestant("softmax_attention", "streaming-window-H:\\d+", "softmax, window of 512", "#9a7fc4", True, main=True),
    Contestant("softmax_attention", "streaming-window_globals-H:\\d+", "softmax, window of 512 and 8 globals", "#7d5bb0"),
    Contestant("softmax_attention", "streaming-block_local-H:\\d+", "softmax, blocks of 50", "#c9b3e6"),
    Contestant("softmax_attention", "streaming-strided-H:\\d+", "softmax, strided by N / 50", "#a39bd0",
               hint="neighboring queries look at different keys, so that a tile is computed for a few of its pairs"),
    Contestant("softmax_attention", "streaming-causal_fixed-H:\\d+", "softmax, causal, fixed by 50 and 10", "#8f86a8"),
    Contestant("softmax_attention", "streaming-bigbird-H:\\d+", "softmax, BigBird of 64", "#6a4c93", main=True),
]
OWN_POLICY = "own"
OWN_COLORS = ("#e6007e", "#00a651", "#7a00e6", "#ff6a00", "#00b8d4", "#a8b400")
MATERIALIZED = next(who for who in CONTESTANTS if who.policy.startswith("materialized"))
DIRECTIONS = {"forward_values": "forward", "training": "forward + backward"}  # as cases and as tables call them


def contestant_of(case: Case) -> Contestant | None:
    """Own contestants are known by their cases alone: each joins CONTESTANTS, before the library's, when it is first met."""
    known = next((c for c in CONTESTANTS if c.matches(case)), None)
    if known or case.policy != OWN_POLICY:
        return known
    i = sum(c.own for c in CONTESTANTS)
    CONTESTANTS.insert(i, Contestant(case.subject, OWN_POLICY, case.subject, OWN_COLORS[i % len(OWN_COLORS)], in_16_bits=True, own=True))
    return CONTESTANTS[i]


def weak_opponent(context: dict, cases: Iterable[Case]) -> str:
    """A warning where materialized attention multiplies by less than this processor can; else empty."""
    no_blas = context.get("blas") == PLAIN_LOOPS
    if not (no_blas or context.get("weak_blas")) or not any(map(MATERIALIZED.matches, cases)):
        return ""
    if no_blas:
        return (f"WARNING: no optimized BLAS was found: {MATERIALIZED.label} multiplies by plain loops here and is a weak opponent. "
                "Debian: apt-get install libopenblas-dev")
    return f"WARNING: {MATERIALIZED.label} is a weak opponent: {context['blas']}: {context['weak_blas']}."


def label_of(who: Contestant, context: dict) -> str:
    """In the tables of a run: materialized attention is as good an opponent as the BLAS that multiplies for it."""
    blas = context.get("blas", "")
    name = PLAIN_LOOPS if blas == PLAIN_LOOPS else blas.partition(" ")[0]
    return f"{who.label} ({name})" if who == MATERIALIZED and name else who.label


def softmax_of(case: Case, cases: dict[str, Case], mask: str) -> Case | None:
    """Streaming softmax attention with that mask and the same fields; of several numbers of heads, with its own, or for who has
    none, with the first."""
    own = case.policy.rpartition("-H:")
    wanted = f"streaming-{mask}-H:" + (own[2] if own[1] else "\\d+")
    parts = case.name.split("/")
    expression = re.compile("/".join([REFERENCE.subject, *map(re.escape, parts[1:4]), wanted, *map(re.escape, parts[5:])]))
    return next((other for name, other in cases.items() if expression.fullmatch(name)), None)


def reference_of(case: Case, cases: dict[str, Case]) -> Case | None:
    return softmax_of(case, cases, "full")


def torch_forms_of(case: Case) -> list[str]:
    """What the case looks like in PyTorch, by name (in_torch/forms.py). Of an operator that is not the library's, nobody knows."""
    if case.policy == OWN_POLICY:
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
    known = {"sparse_mix": ["torch_roll", "torch_gather"], "csp": ["torch_gather_sort"], "max_exchange": ["torch_max_scatter"],
             "multi_permutation": ["torch_sort_gather"]}
    return known.get(case.subject) or (["torch_signed_sort"] if case.policy == "interleave" else ["torch_stable_sort", "torch_sort"])
