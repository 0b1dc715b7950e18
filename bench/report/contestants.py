# SPDX-License-Identifier: Apache-2.0
"""Who takes part in the arena, in the order of the tables, and how the pictures show it."""
import re
from dataclasses import dataclass

from .results import Case


@dataclass(frozen=True)
class Contestant:
    subject: str
    policy: str  # a regular expression
    label: str
    color: str
    marker: str
    in_16_bits: bool = False  # takes part with bfloat16, too

    def matches(self, case: Case) -> bool:
        return case.subject == self.subject and re.fullmatch(self.policy, case.policy) is not None


REFERENCE = Contestant("softmax_attention", "streaming-full-H:4", "softmax, streaming", "#222222", "s", True)
CONTESTANTS = (
    Contestant("slicing_sort", "ascending", "slicing-sort", "#0b6e99", "o", True),
    Contestant("slicing_sort", "interleave", "slicing-sort, interleave", "#5fb0d3", "o"),
    Contestant("max_exchange", "ascending", "max-exchange", "#5b8c3a", "^"),
    Contestant("multi_permutation", "ascending", "multi-permutation, K = 2", "#c8553d", "D"),
    Contestant("csp", "linear-reference-G:2", "CSP, pairs", "#d9a404", "p", True),
    Contestant("csp", "linear-reference-G:16", "CSP, groups of 16", "#8a6a00", "h"),
    Contestant("sparse_mix", "chord-per_factor-M:\\d+", "CHORD", "#b0307a", "X", True),
    Contestant("sparse_mix", "cdil-per_factor-M:\\d+", "CDIL", "#3a4f8f", "*"),
    REFERENCE,
    Contestant("softmax_attention", "native-full-H:4", "softmax, native products", "#d06a1b", "d", True),
    Contestant("softmax_attention", "materialised-full-H:4", "softmax, materialized", "#777777", "P"),
    Contestant("softmax_attention", "streaming-window-H:4", "softmax, window of 512", "#9a7fc4", "v", True),
    Contestant("softmax_attention", "streaming-block_local-H:4", "softmax, blocks of 50", "#c9b3e6", "<"),
)
DIRECTIONS = {"forward_values": "forward", "training": "forward + backward"}  # as cases and as tables call them


def contestant_of(case: Case) -> Contestant | None:
    return next((c for c in CONTESTANTS if c.matches(case)), None)


def reference_of(case: Case, cases: dict[str, Case]) -> Case | None:
    """Streaming softmax attention with the same fields."""
    parts = case.name.split("/")
    parts[0], parts[4] = REFERENCE.subject, REFERENCE.policy
    return cases.get("/".join(parts))


def torch_forms_of(case: Case) -> list[str]:
    """What the case looks like in PyTorch, by name (in_torch/forms.py)."""
    if case.subject == "softmax_attention":
        mask = case.policy.split("-")[1]
        tiled = case.policy.startswith(("streaming", "native"))
        return ["torch_sdpa_masked" if mask != "full" else "torch_sdpa_flash" if tiled else "torch_sdpa_math"]
    known = {"sparse_mix": ["torch_roll", "torch_gather"], "csp": ["torch_gather_sort"], "max_exchange": ["torch_max_scatter"],
             "multi_permutation": ["torch_sort_gather"]}
    return known.get(case.subject) or (["torch_signed_sort"] if case.policy == "interleave" else ["torch_stable_sort", "torch_sort"])
