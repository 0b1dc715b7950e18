# SPDX-License-Identifier: Apache-2.0
"""Tables of runs, published numbers and baseline classifiers. Each row says if its numbers are ours, scaled down (and how),
or quoted."""
import json
import math
from dataclasses import dataclass

from .build import output_of
from .presets import preset, published, scaled_by
from .runs import Result, Run, Runs, mean_and_spread

PUBLISHED_BASELINE_PERCENT = {  # measured on data of another generator, 20,000 training and 4,000 test samples
    "nothing": 17.55, "the first token": 36.38, "first operator, its extreme digit, number of sublists": 43.23,
    "first operator, its digits, the next operators": 50.12,
}


@dataclass
class Table:
    title: str
    notes: list[str]
    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        def line(cells: list[str]) -> str:
            return "| " + " | ".join(cells) + " |"
        rule = "|" + "|".join("---" for _ in self.columns) + "|"
        return "\n".join([f"# {self.title}", "", *(f"{note}\n" for note in self.notes), line(self.columns), rule, *map(line, self.rows)]) + "\n"


def standard_error(accuracy: float, samples: float) -> float:
    """Returns the standard error of an accuracy measured on `samples` samples."""
    return math.sqrt(max(accuracy * (1 - accuracy), 0) / samples)


def standard_error_of_mean(mean: float, spread: float | None, seeds: int, samples: float) -> float:
    """Combines the spread over seeds with the sampling error of the test set. All seeds share the test samples, so more
    seeds do not reduce the sampling error."""
    return math.hypot(standard_error(mean, samples), (spread or 0) / math.sqrt(seeds))


def describe_beaten_baseline(accuracy: float, error: float, baselines: dict[str, float], samples: float) -> str:
    """Names the strongest baseline that a model beats by more than two standard errors of the difference, as if they had not
    been tested on the same samples."""
    beaten = [name for name, baseline in baselines.items() if accuracy - baseline > 2 * math.hypot(error, standard_error(baseline, samples))]
    return f"beats {name_of_baseline(max(beaten, key=lambda name: baselines[name]))}" if beaten else "beats no baseline"


def name_of_baseline(features: str) -> str:
    return {"nothing": "the majority class", "the first token": "the first-token classifier"}.get(features, f"the classifier by {features}")


def percent(accuracy: float) -> str:
    return f"{100 * accuracy:.1f} %"


def run_baselines(runs: Runs, flags: dict[str, str]) -> dict[str, float]:
    """Returns the accuracies of the baselines on a run's test samples, learned from all of its training samples."""
    command = [runs.program, "--baselines"]
    for name in ("length", "shortest", "data-seed", "training-samples", "test-samples"):
        command += [f"--{name}", flags[name]] if name in flags else []
    accuracies = json.loads(output_of(*command))
    return {name: accuracy for name, accuracy in accuracies.items() if name != "event"}


def description_of(seeds: list[tuple[Run, Result]], differences_from_paper: list[str]) -> str:
    """Returns "ours", with the differences in settings (`differences_from_paper`) and in steps."""
    steps, total = min(result.step for _, result in seeds), int(seeds[0][0].flags["steps"])
    differences = differences_from_paper + [f"{steps} of {total} steps"] * (steps < total)
    return "ours, scaled: " + "; ".join(differences) if differences else "ours"


def accuracy_row(seeds: list[tuple[Run, Result]], baselines: dict[str, float], quoted: list | None, differences_from_paper: list[str]) -> list[str]:
    tested = [(run, result) for run, result in seeds if result.test]
    model = seeds[0][0].model
    if not tested:
        return [model, "", "", "no test yet", "", "", "", *quoted_cells(quoted)]
    mean, spread = mean_and_spread([result.accuracy for _, result in tested])
    samples = tested[0][1].test[-1]["samples"]
    beaten = describe_beaten_baseline(mean, standard_error_of_mean(mean, spread, len(tested), samples), baselines, samples) if baselines else ""
    minutes = mean_and_spread([result.test[-1]["seconds"] / 60 for _, result in tested])[0]
    return [model, percent(mean) + (f" +- {100 * spread:.1f}" if spread is not None else ""), str(len(tested)), description_of(tested, differences_from_paper),
            beaten, str(min(result.step for _, result in tested)), f"{minutes:.1f}" if minutes >= 1 else f"{minutes:.2g}",
            *quoted_cells(quoted)]


def quoted_cells(quoted: list | None) -> list[str]:
    return [f"{quoted[0]:.2f} %", f"quoted: {quoted[1]}"] if quoted else ["", ""]


def listops_table(runs: Runs, models: list[list[tuple[Run, Result]]], preset_name: str) -> Table:
    """`models`: per model, its runs with different seeds."""
    baselines = run_baselines(runs, models[0][0][0].flags)
    quoted = published("listops")
    rows = [["baseline: " + name if name != "nothing" else "majority", percent(accuracy), "", "ours", "", "", "",
             f"{PUBLISHED_BASELINE_PERCENT[name]:.2f} %", "another program, 501 to 1999 symbols"] for name, accuracy in baselines.items()]
    rows += [accuracy_row(seeds, baselines, quoted.get(seeds[0][0].model), scaled_by(preset_name, seeds[0][0].flags)) for seeds in models]
    shown = {seeds[0][0].model for seeds in models}
    rows += [[model, "", "", "quoted", "", "", "", *quoted_cells(quoted[model])] for model in quoted if model not in shown]
    samples = {result.test[-1]["samples"] for seeds in models for _, result in seeds if result.test}
    sample_note = "".join(f", {n} samples; one standard error at 37 % is {100 * standard_error(0.37, n):.1f} points" for n in sorted(samples))
    return Table("ListOps", [
        f"Settings: {preset_name} ({preset(preset_name)['source']}). The accuracy is that of the last test{sample_note}; +- is the standard deviation of seeds.",
        "A model beats a baseline if its accuracy on the same tests is higher by more than two standard errors of independent tests. Published numbers are "
        "of other data and mostly other sizes."],
        ["model", "accuracy", "seeds", "what it is", "baselines", "steps", "minutes", "published", "by whom"], rows)
