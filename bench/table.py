"""Results: one table of medians, ranges and ratios; JSON to keep; a plot; two runs compared."""

import json
from pathlib import Path
from statistics import median
from typing import Any

GOALS: dict[tuple[str, str], float] = {
    # (figure, beside) → the ratio to reach; "beside" absent: an absolute goal in the figure's unit
    ("produce, 64 KB batches", "floor"): 1.3,
    ("produce, 1 MB batches", "floor"): 1.3,
    ("produce, 16 KB batches", "floor"): 2.0,
    ("produce, one 100-byte record", "floor"): 3.5,
    ("produce, one 100-byte record", "kafka"): 0.5,
    ("produce, 64 KB batches", "kafka"): 0.6,
    ("produce, 1 MB batches", "kafka"): 0.95,
    ("fetch, 1 MB a request", "kafka"): 0.8,
    ("end to end at 10,000/s, median", "kafka"): 1.0,
    ("end to end at 10,000/s, p99", "kafka"): 0.7,
    ("p99 beside a cold read and deletions", ""): 10,
    ("memory of an idle connection", ""): 10,
    ("memory after load", ""): 90,
    ("memory, idle", ""): 50,
    ("exec to first ack", ""): 0.3,
    ("exec to first ack after kill, 1 GB", ""): 1.5,
    ("2,000 partitions, clean start", ""): 1,
    ("2,000 partitions, after kill", ""): 3,
    ("cleaner, 1 M records, 100 k keys", ""): 1,
    ("recovery of 1 GB, 16 KB batches", ""): 0.67,
    ("10,000 partitions, clean start", ""): 5,
    ("memory of a partition", ""): 12,
}

COLOURS = {"tidelog": "#1f77b4", "floor": "#999999", "kafka": "#cc7722"}

Results = dict[str, dict[str, list[float]]]
"""figure title → target name → one value a round."""


def rows(results: Results, units: dict[str, str]) -> list[list[str]]:
    """The table's rows: figure, unit, each target's median (min–max), ratios and goals."""
    targets = columns(results)
    table = []
    for title, values in results.items():
        row = [title, units[title]]
        for target in targets:
            found = values.get(target)
            row.append(_spread(found) if found else "–")
        row.append(" · ".join(_verdicts(title, values, targets)))
        table.append(row)
    return table


def columns(results: Results) -> list[str]:
    """Target names, ours first."""
    names = {name for values in results.values() for name in values}
    return sorted(names, key=lambda name: (name != "tidelog", name))


def _spread(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{median(values):.3g} ({min(values):.3g}–{max(values):.3g})"


def _verdicts(title: str, values: dict[str, list[float]], targets: list[str]) -> list[str]:
    ours = median(values["tidelog"]) if "tidelog" in values else None
    found = []
    for target in [name for name in targets if name != "tidelog" and name in values]:
        if ours is not None and median(values[target]) > 0:
            ratio = ours / median(values[target])
            found.append(f"{ratio:.2f} × {target}" + _goal(title, target, ratio, " ×"))
    if ours is not None and (title, "") in GOALS:
        found.append(_goal(title, "", ours, "").strip())
    return found


def _goal(title: str, beside: str, value: float, unit: str) -> str:
    goal = GOALS.get((title, beside))
    if goal is None:
        return ""
    return f" ({'reached' if value <= goal else 'MISSED'}: ≤ {goal:g}{unit})"


def markdown(results: Results, units: dict[str, str]) -> str:
    """The table as docs/performance.md holds it."""
    head = ["figure", "unit", *columns(results), "ratios and goals"]
    lines = [head, ["---"] * len(head), *rows(results, units)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def save(path: Path, results: Results, units: dict[str, str], machine: str) -> None:
    """Keep a run as JSON, one value a round."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine, "units": units, "results": results}
    path.write_text(json.dumps(document, indent=1))


def compare(before: Path, after: Path) -> str:
    """Ours in two runs, figure by figure."""
    old, new = (json.loads(path.read_text()) for path in (before, after))
    lines = [f"{'figure':44} {'before':>10} {'after':>10}  after/before"]
    for title, values in new["results"].items():
        if "tidelog" in values and "tidelog" in old["results"].get(title, {}):
            was, now = (median(run["results"][title]["tidelog"]) for run in (old, new))
            lines.append(f"{title:44} {was:10.3g} {now:10.3g}  {now / was if was else 0:.2f}")
    return "\n".join(lines)


def plot(path: Path, results: Results, units: dict[str, str]) -> None:
    """Bars of every figure beside each other, one panel a figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plots

    targets = columns(results)
    across = 4
    down = -(-len(results) // across)
    figure, axes = plots.subplots(down, across, figsize=(4 * across, 2.4 * down), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, (title, values) in zip(axes.flat, results.items(), strict=False):
        axis.axis("on")
        names: list[Any] = [name for name in targets if name in values]
        heights = [median(values[name]) for name in names]
        low = [median(values[name]) - min(values[name]) for name in names]
        high = [max(values[name]) - median(values[name]) for name in names]
        axis.bar(names, heights, yerr=[low, high], color=[COLOURS.get(n, "#777777") for n in names])
        axis.set_title(title, fontsize=9)
        axis.set_ylabel(units[title], fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plots.close(figure)
