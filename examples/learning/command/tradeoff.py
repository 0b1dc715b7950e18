# SPDX-License-Identifier: Apache-2.0
"""Accuracy, speed and memory of the models of a search as circles, after Sliceformer's figure 1."""
import argparse
import sys
from pathlib import Path

from report.colors import on_paper

from .costs import measure
from .figures import COLORS, write_data
from .options import ROOT, TRADEOFF
from .papers import LONG_LISTS, stored_results
from .presets import flags_of, preset
from .runs import Runs
from .search import STORED as SEARCHED, final_accuracy, make_search
from .stored import is_same, read_entries, title_of, write_entry
from .tables import Table, percent

STORED = ROOT / "docs/learning/results/tradeoff.json"
STEPS, REPETITIONS = 60, 3
OTHER_SETTINGS = {"small/digits": {"patch": "2"}}


def measure_entry(runs: Runs, entry: dict, origin: str) -> dict:
    """Returns the costs of a model of search.json: the least of repeated measurements, since other programs only add to them."""
    flags = {**flags_of(entry["preset"], None, entry["model"], entry["settings"]), "rate": entry["rate"]}
    found = [measure(runs, flags, STEPS) for _ in range(REPETITIONS)]
    return {**{key: entry[key] for key in ("preset", "model", "settings")}, **{key: min(values[key] for values in found) for key in found[0]},
            "batch": int(flags["batch"]), "origin": origin, "command": " ".join(["examples/learning/run", *sys.argv[1:]])}


def make_figure(o: argparse.Namespace, runs: Runs, origin: str) -> None:
    """Draws the models of search.json. Trains those of --models that it lacks, and measures costs that tradeoff.json lacks."""
    name = o.preset or TRADEOFF
    path, costs_path = o.results / "search.json", o.results / "tradeoff.json"
    for model in o.models or preset(name)["search"]["models"]:
        if not any(is_same(entry, {"preset": name, "model": model, "settings": dict(o.set)}) for entry in read_entries(path)):
            make_search(argparse.Namespace(**{**vars(o), "search": name, "models": [model]}), runs, origin)
    entries = [entry for entry in read_entries(path) if entry["preset"] == name and (not o.models or entry["model"] in o.models)]
    for entry in entries:
        if not any(is_same(entry, other) for other in read_entries(costs_path)):
            print(f"costs: {title_of(entry)}", file=sys.stderr)
            write_entry(costs_path, measure_entry(runs, entry, origin))
    draw(o.results / "tradeoff", joined(entries, read_entries(costs_path)), name, origin)


def joined(entries: list[dict], costs: list[dict]) -> list[dict]:
    """Returns entries of a search with their costs, the most accurate model first. Ignores entries without costs."""
    found = [{**next((cost for cost in costs if is_same(cost, entry)), {}), **entry} for entry in entries]
    return sorted((entry for entry in found if "training seconds" in entry), key=lambda entry: -final_accuracy(entry)[0])


def headline(searched: list[dict], costs: list[dict]) -> Table:
    """Returns the first table of docs/learning/README.md: the models with costs, and their stored accuracies on other tasks."""
    def text(entry: dict, name: str) -> str:
        # On long lists 2,000 tests, as all models have them there.
        mean, error = final_accuracy(entry if name != LONG_LISTS else {key: value for key, value in entry.items() if key != "more samples"})
        return f"{percent(mean)} +- {100 * error:.1f}"

    def of(name: str, entry: dict) -> str:
        same = {"preset": name, "model": entry["model"], "settings": {**entry["settings"], **OTHER_SETTINGS.get(name, {})}}
        found = next((text(other, name) for other in searched if is_same(other, same)), "")
        long = next((f"{run['accuracy']} % ({run['settings']})" for run in stored_results() if name == LONG_LISTS and run["model"] == title_of(entry)), "to run")
        return found or long
    rows = [[f"`{title_of(entry)}`", of(TRADEOFF, entry), of("small/digits", entry), of(LONG_LISTS, entry),
             f"{1 / entry['training seconds']:.0f}", f"{1 / entry['inference seconds']:.0f}", f"{entry['peak bytes'] / 1e6:.0f}"] for entry in joined(searched, costs)]
    return Table("Accuracy, speed and memory", [], ["model", "lists of 25 to 100 symbols", "digits", "lists of 501 to 1,999 symbols", "training: steps/s",
                                                    "inference: batches/s", "peak MB"], rows)


def draw(path: Path, entries: list[dict], name: str, origin: str) -> None:
    """Writes figure-tradeoff.json and the picture."""
    controls = [entry for entry in entries if entry["model"] == "none"]
    shown = [entry for entry in entries if entry["model"] != "none"]
    if not shown or not write_data(path, {"title": "Accuracy, speed and memory", "preset": name, "origin": origin, "models": entries}):
        return
    from report.pictures.style import End, finish, label_ends, plt, save

    def figure_of(theme: str):
        figure, axis = plt.subplots(figsize=(6.2, 5.2))
        greatest, ends = max(entry["peak bytes"] for entry in shown), []
        for index, entry in enumerate(shown):
            x, (y, error) = 1 / entry["training seconds"], (100 * value for value in final_accuracy(entry))
            color = on_paper(COLORS[index % len(COLORS)], theme)
            axis.scatter([x], [y], s=[900 * entry["peak bytes"] / greatest], color=color, alpha=0.55, linewidth=0)
            axis.errorbar([x], [y], yerr=[error], color=color, linewidth=1.1)
            ends.append(End(x, y, title_of(entry), color, values=[f"{y:.1f} %", f"{x:.0f}", f"{entry['peak bytes'] / 1e6:.0f}"]))
        axis.set_xlim(0, 1.12 * max(1 / entry["training seconds"] for entry in shown))
        axis.margins(y=0.12)
        axis.set_xlabel("training steps per second of processor time")
        axis.set_ylabel("accuracy of the test, percent")
        label_ends(axis, ends, ["accuracy", "steps/s", "MB"])
        note = "".join(f"\nnone, which mixes no rows, has {percent(final_accuracy(entry)[0])} and {1 / entry['training seconds']:.0f} steps/s: it is not shown"
                       for entry in controls)
        finish(figure, "Accuracy, speed and memory", f"our runs of {name}; circles: peak memory of the process; bars: one standard error", origin + note)
        return figure
    save(figure_of, path)


if __name__ == "__main__":
    print(headline(read_entries(SEARCHED), read_entries(STORED)).markdown())
