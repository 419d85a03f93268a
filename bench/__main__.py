"""python -m bench run|kafka|compare: the figures of docs/performance.md, on your machine.

Rounds are shuffled over figures and targets, so that a slow minute of the machine hits all alike.
Believe ratios and processor time; a shared machine's MB/s are noise.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import kafka_jars, table
from bench.figures import SERVING_FIGURES, Figure
from bench.storage import STORAGE_FIGURES
from bench.targets import Kafka, Peer, Target, Tidelog, wait_until_answering

TOUCHED_BYTES = 6 << 30
"""More than the largest figure writes."""
FIGURES = (*SERVING_FIGURES, *STORAGE_FIGURES)
RESULTS = Path(__file__).parent / "results"


class FloorTarget:
    """Stands for the floor in the plan; each figure starts a floor told its own frames."""

    name, host, port, restartable, pid = "floor", "127.0.0.1", 0, False, 0
    data_dir = Path()

    def start(self) -> None:
        """Nothing runs between figures."""

    def stop(self, kill: bool = False) -> None:
        """Nothing runs between figures."""

    def configure(self, key: str, value: object) -> None:
        """It has no settings."""

    def wipe(self) -> None:
        """It keeps nothing."""


def applies(figure: Figure, target: Target) -> bool:
    """Can this target be asked for this figure?"""
    if target.name == "floor":
        return figure.floor
    return target.restartable or not figure.needs_restart


def measure(figure: Figure, target: Target, folder: Path) -> float:
    """One value; a target of ours lives on fresh data for each."""
    if target.restartable:
        target.wipe()
        target.start()
    try:
        if target.name != "floor":
            wait_until_answering(target).close()
        return figure.measure(target, folder)
    finally:
        target.stop()


def run(targets: list[Target], figures: list[Figure], rounds: int, folder: Path) -> table.Results:
    """Every figure of every target, `rounds` times, in shuffled order; progress on stderr."""
    plan = [(f, t) for _ in range(rounds) for f in figures for t in targets if applies(f, t)]
    random.shuffle(plan)
    results: table.Results = {figure.title: {} for figure in figures}
    for number, (figure, target) in enumerate(plan, 1):
        place = f"[{number}/{len(plan)}] {figure.title}: {target.name}"
        try:
            value = measure(figure, target, folder)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            # One failure must not cost the figures of an hour; the table shows what is missing.
            print(f"{place} FAILED: {error}", file=sys.stderr)
            continue
        results[figure.title].setdefault(target.name, []).append(value)
        print(f"{place} {value:.3g} {figure.unit}", file=sys.stderr)
    return results


def touch_page_cache(folder: Path) -> None:
    """Fill and free page-cache memory: virtual machines pay for the first touch of a page."""
    block = bytes(1 << 20)
    path = folder / "touched"
    with path.open("wb") as file:
        for _ in range(TOUCHED_BYTES // len(block)):
            file.write(block)
    path.unlink()


def machine() -> str:
    """What the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(": ")[2]
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} × {cpu}, {system}"


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("command", choices=["run", "kafka", "compare"])
    parser.add_argument("files", nargs="*", type=Path, help="compare: two results")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=HOST:PORT:PID")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="figures whose title contains this")
    parser.add_argument("--name", default="latest", help="results are kept under this name")
    arguments = parser.parse_args()
    if arguments.command == "compare":
        print(table.compare(*arguments.files))
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # starts are measured with warm bytecode
    figures = [figure for figure in FIGURES if arguments.only in figure.title]
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as name:
        folder = Path(name)
        touch_page_cache(folder)
        targets: list[Target] = [Tidelog(folder), FloorTarget(), *map(Peer, arguments.peer)]
        if arguments.command == "kafka":
            targets.append(Kafka(folder, kafka_jars.fetch(RESULTS / "jars")))
        results = run(targets, figures, arguments.rounds, folder)
    units = {figure.title: figure.unit for figure in figures}
    target = RESULTS / f"{arguments.name}.json"
    table.save(target, results, units, machine())
    table.plot(target.with_suffix(".png"), results, units)
    print(json.dumps({"machine": machine(), "rounds": arguments.rounds}))
    print(table.markdown(results, units))


if __name__ == "__main__":
    main()
