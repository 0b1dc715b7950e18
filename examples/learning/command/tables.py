# SPDX-License-Identifier: Apache-2.0
"""Tables of runs beside published numbers and trivial readers, each cell with what it is: ours, scaled (fewer steps than the
preset says), or quoted."""
import json
import math
from dataclasses import dataclass

from .build import output_of
from .presets import published
from .runs import Result, Run, Runs, mean_and_spread

PUBLISHED_READERS = {  # of 20,000 samples to learn from and 4,000 to test, by another generator
    "nothing": 17.55, "the first token": 36.38, "first operator, its extreme digit, number of sublists": 43.23,
    "first operator, its digits, the next operators": 50.12,
}


@dataclass
class Table:
    title: str
    says: list[str]
    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        def line(cells: list[str]) -> str:
            return "| " + " | ".join(cells) + " |"
        rule = "|" + "|".join("---" for _ in self.columns) + "|"
        return "\n".join([f"# {self.title}", "", *(f"{sentence}\n" for sentence in self.says), line(self.columns), rule, *map(line, self.rows)]) + "\n"


def error_of(accuracy: float, samples: float) -> float:
    """One standard error of a share of so many samples."""
    return math.sqrt(max(accuracy * (1 - accuracy), 0) / samples)


def passed(accuracy: float, samples: float, readers: dict[str, float]) -> str:
    """The reader who looks at most of those that a model is above by more than two standard errors."""
    beaten = [name for name, share in readers.items() if accuracy > share + 2 * error_of(accuracy, samples)]
    return f"passes the reader of {beaten[-1]}" if beaten else "passes no reader"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def readers_of(runs: Runs, flags: dict[str, str]) -> dict[str, float]:
    words = [runs.program, "--readers", "--test-samples", "20000"]
    for name in ("length", "shortest", "data-seed"):
        words += [f"--{name}", flags[name]] if name in flags else []
    found = json.loads(output_of(*words))
    return {name: share for name, share in found.items() if name != "event"}


def accuracy_row(of: list[tuple[Run, Result]], readers: dict[str, float], quoted: list | None) -> list[str]:
    results = [result for _, result in of if result.test]
    mean, spread = mean_and_spread([result.accuracy for result in results])
    steps, whole = min(result.step for result in results), int(of[0][0].flags["steps"])
    seconds = mean_and_spread([result.test[-1]["seconds"] for result in results])[0]
    kind = "ours" if steps == whole else f"ours, scaled: {steps} of {whole} steps"
    return [of[0][0].model, percent(mean) + (f" +- {100 * spread:.1f}" if spread is not None else ""), str(len(results)), kind,
            passed(mean, results[0].test[-1]["samples"], readers) if readers else "", f"{seconds / 60:.1f}", *quoted_cells(quoted)]


def quoted_cells(quoted: list | None) -> list[str]:
    return [f"{quoted[0]:.2f} %", f"quoted: {quoted[1]}"] if quoted else ["", ""]


def listops(runs: Runs, of: list[list[tuple[Run, Result]]], source: str) -> Table:
    """`of` has a list for each model, of its seeds."""
    readers = readers_of(runs, of[0][0][0].flags)
    quoted = published("listops")
    rows = [["reader of " + name if name != "nothing" else "majority", percent(share), "", "ours", "", "", f"{PUBLISHED_READERS[name]:.2f} %",
             "another generator, 4,000 tests"] for name, share in readers.items()]
    rows += [accuracy_row(one, readers, quoted.get(one[0][0].model)) for one in of if any(result.test for _, result in one)]
    shown = {one[0][0].model for one in of}
    rows += [[model, "", "", "not run", "", "", *quoted_cells(quoted[model])] for model in quoted if model not in shown]
    samples = next(result.test[-1]["samples"] for one in of for _, result in one if result.test)
    return Table("ListOps", [
        f"Settings: {source}. The accuracy is that of the last test, {samples} samples; one standard error at 37 % is {100 * error_of(0.37, samples):.1f} points.",
        "A model passes a trivial reader if it is above it by more than two standard errors. Published numbers are of other data and mostly other sizes."],
        ["model", "accuracy", "seeds", "what it is", "trivial readers", "minutes", "published", "by whom"], rows)
