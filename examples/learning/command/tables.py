# SPDX-License-Identifier: Apache-2.0
"""Tables of runs beside published numbers and trivial readers, each cell with what it is: ours, scaled (in steps or anything
else that its preset says), or quoted."""
import json
import math
from dataclasses import dataclass

from .build import output_of
from .presets import preset, published, scaled_by
from .runs import Result, Run, Runs, mean_and_spread

PUBLISHED_READERS = {  # of 20,000 samples to learn from and 4,000 to test, by another generator
    "nothing": 17.55, "the first token": 36.38, "first operator, its extreme digit, number of sublists": 43.23,
    "first operator, its digits, the next operators": 50.12,
}
READER_SAMPLES = 20000  # that the readers are tested on, here


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


def error_of_mean(mean: float, spread: float | None, seeds: int, samples: float) -> float:
    """Of training and of the test. All seeds have the same test, so more of them do not make its part smaller."""
    return math.hypot(error_of(mean, samples), (spread or 0) / math.sqrt(seeds))


def passed(accuracy: float, error: float, readers: dict[str, float]) -> str:
    """The reader who looks at most of those that a model is above by more than two standard errors of the difference."""
    beaten = [name for name, share in readers.items() if accuracy - share > 2 * math.hypot(error, error_of(share, READER_SAMPLES))]
    return f"passes the reader of {beaten[-1]}" if beaten else "passes no reader"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def readers_of(runs: Runs, flags: dict[str, str]) -> dict[str, float]:
    words = [runs.program, "--readers", "--test-samples", str(READER_SAMPLES)]
    for name in ("length", "shortest", "data-seed"):
        words += [f"--{name}", flags[name]] if name in flags else []
    found = json.loads(output_of(*words))
    return {name: share for name, share in found.items() if name != "event"}


def what_it_is(of: list[tuple[Run, Result]], scaled: list[str]) -> str:
    """ours, or scaled and in what; `scaled` is by its settings, and too few steps are seen in its results."""
    steps, whole = min(result.step for _, result in of), int(of[0][0].flags["steps"])
    why = scaled + [f"{steps} of {whole} steps"] * (steps < whole)
    return "ours, scaled: " + "; ".join(why) if why else "ours"


def accuracy_row(of: list[tuple[Run, Result]], readers: dict[str, float], quoted: list | None, scaled: list[str]) -> list[str]:
    tested = [(run, result) for run, result in of if result.test]
    model = of[0][0].model
    if not tested:
        return [model, "", "", "no test yet", "", "", "", *quoted_cells(quoted)]
    mean, spread = mean_and_spread([result.accuracy for _, result in tested])
    error = error_of_mean(mean, spread, len(tested), tested[0][1].test[-1]["samples"])
    minutes = mean_and_spread([result.test[-1]["seconds"] / 60 for _, result in tested])[0]
    return [model, percent(mean) + (f" +- {100 * spread:.1f}" if spread is not None else ""), str(len(tested)), what_it_is(tested, scaled),
            passed(mean, error, readers) if readers else "", str(min(result.step for _, result in tested)), f"{minutes:.1f}" if minutes >= 1 else f"{minutes:.2g}",
            *quoted_cells(quoted)]


def quoted_cells(quoted: list | None) -> list[str]:
    return [f"{quoted[0]:.2f} %", f"quoted: {quoted[1]}"] if quoted else ["", ""]


def listops(runs: Runs, of: list[list[tuple[Run, Result]]], name: str) -> Table:
    """`of` has a list for each model, of its seeds; `name` is the preset's."""
    readers = readers_of(runs, of[0][0][0].flags)
    quoted = published("listops")
    rows = [["reader of " + looks_at if looks_at != "nothing" else "majority", percent(share), "", "ours", "", "", "",
             f"{PUBLISHED_READERS[looks_at]:.2f} %", "another program, 501 to 1999 symbols"] for looks_at, share in readers.items()]
    rows += [accuracy_row(one, readers, quoted.get(one[0][0].model), scaled_by(name, one[0][0].flags)) for one in of]
    shown = {one[0][0].model for one in of}
    rows += [[model, "", "", "quoted", "", "", "", *quoted_cells(quoted[model])] for model in quoted if model not in shown]
    samples = {result.test[-1]["samples"] for one in of for _, result in one if result.test}
    tests = "".join(f", {n} samples; one standard error at 37 % is {100 * error_of(0.37, n):.1f} points" for n in sorted(samples))
    return Table("ListOps", [
        f"Settings: {name} ({preset(name)['source']}). The accuracy is that of the last test{tests}; +- is the standard deviation of seeds.",
        "A model passes a trivial reader if it is above it by more than two standard errors of their difference. Published numbers are of other data and "
        "mostly other sizes."],
        ["model", "accuracy", "seeds", "what it is", "trivial readers", "steps", "minutes", "published", "by whom"], rows)
