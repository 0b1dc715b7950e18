# SPDX-License-Identifier: Apache-2.0
"""Accuracies of models, each at the rate that is best on samples held out of the training set. search.json has an entry
for each preset, model and settings; docs/learning/results/search.json is the stored one."""
import argparse
import sys

from report.results import replace_file

from .options import ROOT, UsageError
from .presets import flags_of, preset, presets, published
from .runs import Result, Run, Runs, mean_and_spread
from .stored import read_entries, title_of, write_entry
from .tables import Table, describe_beaten_baseline, percent, quoted_cells, run_baselines, standard_error_of_mean

STORED = ROOT / "docs/learning/results/search.json"
COLUMNS = ["model", "rate", "accuracy", "best test", "more tests", "baselines", "seeds", "published", "by whom"]


def trial_flags(name: str, model: str, settings: dict[str, str]) -> dict[str, dict[str, str]]:
    """Returns the flags of a model's trial runs by rate."""
    rule = preset(name)["search"]
    trial = {key: str(value) for key, value in rule["flags"].items()}
    return {rate: {**flags_of(name, None, model, settings), **trial, "rate": rate} for rate in rule["rates"]}


def best_rate(trials: dict[str, float]) -> str:
    """Returns the rate of the highest accuracy, and the lower rate of a tie."""
    return max(sorted(trials, key=float), key=lambda rate: trials[rate])


def entry_of(name: str, model: str, settings: dict[str, str], trials: dict[str, float], seeds: list[tuple[Run, Result]],
             more: dict, baselines: dict[str, float]) -> dict:
    """Returns the values of a model's finished runs; `more` has those of more tests, or nothing."""
    results = [result for _, result in seeds]
    entry = {"preset": name, "model": model, "settings": settings, "parameters": results[0].start["parameters"], "validation": trials,
             "rate": best_rate(trials), "steps": results[0].step, "test samples": results[0].test[-1]["samples"],
             "accuracy": [result.accuracy for result in results],
             "best accuracy": [max(test["accuracy"] for test in result.test) for result in results], **more,
             "loss": [result.test[-1]["loss"] for result in results], "seconds": [result.seconds for result in results]}
    mean, error = final_accuracy(entry)
    return {**entry, "baselines": describe_beaten_baseline(mean, error, baselines, final_tests(entry)[1]) if baselines else ""}


def final_tests(entry: dict) -> tuple[list[float], int]:
    """Returns the accuracies of an entry's runs on the most tests that they had, and the number of these tests."""
    return (entry["more accuracy"], entry["more samples"]) if "more samples" in entry else (entry["accuracy"], entry["test samples"])


def final_accuracy(entry: dict) -> tuple[float, float]:
    """Returns the mean of `final_tests` over the seeds, and its standard error from the samples and the seeds."""
    accuracies, samples = final_tests(entry)
    mean, spread = mean_and_spread(accuracies)
    return mean, standard_error_of_mean(mean, spread, len(accuracies), samples)


def spread_text(values: list[float]) -> str:
    mean, spread = mean_and_spread(values)
    return percent(mean) + (f" +- {100 * spread:.1f}" if spread is not None else "")


def row_of(entry: dict, quoted: list | None) -> list[str]:
    return [f"`{title_of(entry)}`", entry["rate"], spread_text(entry["accuracy"]), spread_text(entry["best accuracy"]),
            f"{spread_text(entry['more accuracy'])} of {entry['more samples']:,}" if "more samples" in entry else "",
            entry["baselines"], str(len(entry["accuracy"])), *quoted_cells(quoted)]


def table(name: str, entries: list[dict]) -> Table:
    """Returns the table of a preset's entries, the best model first, without empty columns."""
    found = sorted((entry for entry in entries if entry["preset"] == name), key=lambda entry: -final_accuracy(entry)[0])
    quoted = published(preset(name)["search"].get("published", ""))
    rows = [row_of(entry, quoted.get(entry["model"])) for entry in found]
    shown = [index for index, _ in enumerate(COLUMNS) if any(row[index] for row in rows)]
    rule = preset(name)["search"]
    return Table(f"Search, {name}", [
        f"Each model has the rate of {', '.join(rule['rates'])} that is best on {rule['flags']['validation']} held-out training samples after "
        f"{rule['flags'].get('steps', preset(name)['flags']['steps'])} steps of one run. The accuracy is that of the test set after "
        f"{preset(name)['flags']['steps']} steps, with the standard deviation of seeds; beside it, the best of all tests, and the last run on more tests."],
        [COLUMNS[index] for index in shown], [[row[index] for index in shown] for row in rows])


def require_searchable(name: str, settings: dict[str, str]) -> None:
    """Raises an error if the preset has no rates, or the settings have one."""
    if "search" not in preset(name):
        raise UsageError(f"preset {name} has no rates to search; {', '.join(key for key in presets() if 'search' in preset(key))} have")
    if taken := {"rate", "validation"} & set(settings):
        raise UsageError(f"--search sets {taken.pop()} itself")


def make_search(o: argparse.Namespace, runs: Runs, origin: str) -> Table:
    """Trains what is missing, and updates search.json and the table after each model."""
    name, settings = o.search, dict(o.set)
    models, path = o.models or preset(name)["search"]["models"], o.results / "search.json"
    for model in models:
        runs.check_flags(flags_of(name, None, model, settings))
    o.results.mkdir(parents=True, exist_ok=True)
    samples, common = preset(name)["search"].get("more samples"), flags_of(name, None, None, settings)
    tested = {**common, "test-samples": str(samples)} if samples else common
    baselines = run_baselines(runs, tested) if common["task"] == "listops" else {}  # the same for all models
    for model in models:
        trials = trial_flags(name, model, settings)
        validation = {rate: seeds[0][1].accuracy for rate, seeds in zip(trials, runs.ensure_all(list(trials.values()), 1))}
        flags = {**flags_of(name, None, model, settings), "rate": best_rate(validation)}
        seeds = runs.ensure_all([flags], o.seeds)[0]
        more = {"more samples": samples, "more accuracy": [runs.accuracy_of(run, samples) for run, _ in seeds]} if samples else {}
        entry = entry_of(name, model, settings, validation, seeds, more, baselines)
        entry |= {"origin": origin, "command": " ".join(["examples/learning/run", *sys.argv[1:]])}
        result = table(name, write_entry(path, entry))
        replace_file(path.with_name(f"search-{name.replace('/', '-')}.md"), result.markdown())
    return result


if __name__ == "__main__":
    for preset_name in dict.fromkeys(stored["preset"] for stored in read_entries(STORED)):
        print(table(preset_name, read_entries(STORED)).markdown())
