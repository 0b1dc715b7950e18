# SPDX-License-Identifier: Apache-2.0
"""The papers' tables in tables.json with the state of every cell, and the stored results in docs/learning/results. A row is a
model, and in parentheses what distinguishes it from other rows of that model; rows in "excluded" have no model."""
import json
from collections import Counter
from statistics import fmean

from . import costs, search
from .options import ROOT
from .presets import HERE
from .stored import read_entries
from .tables import Table

RESULTS = ROOT / "docs/learning/results/listops.json"
SYNTHETIC = ROOT / "docs/learning/results/synthetic.json"
PATHFINDER = ROOT / "docs/learning/results/pathfinder.json"
SYNTHETIC_MODELS = ("sort-ascending", "softmax", "chord", "cdil", "none")
PATHFINDER_MODELS = ("sort-ascending", "csp", "chord", "cdil", "softmax", "none")
STATES = ("measured", "to run", "needs --data", "quoted", "excluded")
LONG_LISTS = "small/listops-1999"
TO_RUN = f"examples/learning/run --search {LONG_LISTS} --models {{model}}"
COLUMNS = {"model": "model", "settings": "head reads, rate", "accuracy": "accuracy", "test loss": "test loss", "better than": "better than",
           "minutes": "minutes", "published": "published"}


def paper_tables() -> dict[str, dict]:
    return json.loads((HERE / "tables.json").read_text(encoding="utf-8"))


def stored_results() -> list[dict]:
    """Returns the runs of ListOps, the best first, each with its date, machine, commit and command."""
    return sorted(json.loads(RESULTS.read_text(encoding="utf-8")), key=lambda run: -run["accuracy"])


def cell(rule: str | dict[str, str], model: str) -> str:
    """Returns a cell's text, which begins with its state. The rule `listops` selects the best stored run or search of the model,
    `cost: speed 1000` its speed or memory with so many rows, and `all rows: adding 256` its accuracy on a synthetic task. A rule by
    model has a rule for the others, `*`."""
    if isinstance(rule, dict):
        rule = rule.get(model, rule["*"])
    if rule.startswith("cost: "):
        return cost_cell(model, *rule.split()[1:])
    if rule.startswith("all rows: "):
        return synthetic_cell(model, *rule.split()[2:])
    if rule != "listops":
        return rule.replace("{model}", model)
    runs = [(run["accuracy"], run["settings"]) for run in stored_results() if run["model"] == model]
    runs += [(round(100 * fmean(entry["accuracy"]), 1), f"class token, {entry['rate']}") for entry in read_entries(search.STORED)
             if (entry["preset"], entry["model"]) == (LONG_LISTS, model)]
    if runs:
        return "measured: {} % at width 64 ({})".format(*max(runs))
    return "to run: " + TO_RUN.replace("{model}", model)


def cost_cell(model: str, kind: str, rows: str) -> str:
    found = next((entry for entry in read_entries(costs.STORED) if (entry["model"], entry["settings"]) == (model, {"length": rows})), None)
    if not found:
        return f"to run: examples/learning/run --table costs --models {model} --lengths {rows}"
    if kind == "memory":
        return f"measured: {found['peak bytes'] / 1e6:,.0f} MB, the peak of the process"
    return f"measured: {found['tokens'] / found['training seconds']:,.0f} tokens per second of processor time"


def synthetic_runs(pool: str) -> list[dict]:
    """Returns the stored runs of the adding problem and temporal order with a pooling."""
    return [run for run in read_entries(SYNTHETIC) if run["pool"] == pool]


def synthetic_cell(model: str, task: str, rows: str) -> str:
    found = next((run for run in synthetic_runs("flatten") if (run["task"], run["rows"], run["model"]) == (task, int(rows), model)), None)
    if not found:
        return f"to run: examples/learning/run --figure {task} --models {model} --lengths {rows}"
    return "measured: {1:.1%} after {0:,} steps, one epoch".format(*found["tests"][-1]).replace("%", " %")


def model_of(row: str) -> str:
    return row.partition(" (")[0]


def cells(table: dict) -> list[list[str]]:
    excluded = table.get("excluded", {})
    return [[f"excluded: {excluded[row]}" if row in excluded else cell(rule, model_of(row)) for rule in table["columns"].values()] for row in table["rows"]]


def state_counts(table: dict) -> Counter:
    return Counter(text.partition(":")[0] for row in cells(table) for text in row)


def describe(counts: Counter) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def paper_table(name: str) -> Table:
    """Returns a table of a paper with the state of every cell."""
    table = paper_tables()[name]
    rows = [[row, *texts] for row, texts in zip(table["rows"], cells(table))]
    return Table(f"{table['paper']}: {table['subject']}", [f"Cells: {describe(state_counts(table))}."], ["model", *table["columns"]], rows)


def listing() -> str:
    """Returns a line for each table of the papers, and the number of cells."""
    tables = paper_tables()
    lines = [f"table {name:26} {table['paper']}: {table['subject']}: {describe(state_counts(table))}" for name, table in tables.items()]
    total = sum(map(state_counts, tables.values()), Counter())
    return "\n".join([*lines, f"{sum(total.values())} cells: {describe(total)}"])


def results_table() -> str:
    """Returns the table of stored results for docs/learning/results/README.md."""
    def text(run: dict, key: str) -> str:
        value = {"model": "`{}`", "accuracy": "{:.1f} %", "test loss": "{:.3f}"}.get(key, "{}").format(run[key])
        return " " + value + " " if value else " "
    lines = ["|" + "|".join(f" {title} " for title in COLUMNS.values()) + "|", "|" + "---|" * len(COLUMNS)]
    return "\n".join(lines + ["|" + "|".join(text(run, key) for key in COLUMNS) + "|" for run in stored_results()])


def class_token_table() -> str:
    """Returns the table of the adding problem and temporal order with a class token for
    docs/learning/results/README.md: the accuracy, the step of that test, and the first tested step with 95 %."""
    runs = synthetic_runs("cls")

    def text(task: str, rows: int, model: str) -> str:
        run = next((run for run in runs if (run["task"], run["rows"], run["model"]) == (task, rows, model)), None)
        if run is None:
            return "to run"
        step, accuracy = run["tests"][-1]
        solved = next((f"; 95 % by {tested:,}" for tested, reached in run["tests"] if reached >= 0.95), "")
        return f"{100 * accuracy:.1f} % at {step:,}{solved}"
    lines = ["| task | rows | " + " | ".join(f"`{model}`" for model in SYNTHETIC_MODELS) + " |", "|" + "---|" * (2 + len(SYNTHETIC_MODELS))]
    for task in ("adding", "order"):
        lines += [f"| {task} | {rows:,} | " + " | ".join(text(task, rows, model) for model in SYNTHETIC_MODELS) + " |" for rows in (128, 256, 512, 1024, 2048, 4096)]
    return "\n".join(lines)


def pathfinder_table() -> Table:
    """Returns the table of our Pathfinder for docs/learning/results/README.md, with the accuracy of the last test and of the best."""
    runs = {(run["model"], run["dashes"]): run for run in read_entries(PATHFINDER)}

    def texts(model: str, dashes: int) -> list[str]:
        if (model, dashes) not in runs:
            return ["to run"] + 4 * [""]
        run = runs[model, dashes]
        best = max(accuracy for _, accuracy in run["tests"])
        return [f"{run['minutes']:.0f}", f"{run['steps']:,}", f"{100 * run['accuracy']:.1f} %", f"{100 * best:.1f} %", f"{run['test loss']:.3f}"]
    return Table("Our Pathfinder", [], ["dashes", "model", "minutes", "steps", "accuracy at the end", "best test", "test loss"],
                 [[str(dashes), f"`{model}`", *texts(model, dashes)] for dashes in (6, 14) for model in PATHFINDER_MODELS])


if __name__ == "__main__":
    print(results_table(), class_token_table(), pathfinder_table().markdown(), sep="\n\n")
