"""`make test`: every suite in turn, its share of the time printed, and what was skipped and why.

A suite that is asked for here and skips everything is a failure: a skip must not look like a pass.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree

LIMIT_SECONDS = 360
"""What all suites together may take on two cores."""


class Suite(NamedTuple):
    """One suite: its folder and how many pytest workers it runs on (0: in this process)."""

    folder: str
    workers: int


SUITES = (
    Suite("tests/unit", 2),
    Suite("tests/property", 2),
    Suite("tests/crash", 2),
    Suite("tests/interop", 2),
)


class Outcome(NamedTuple):
    """What one suite did."""

    folder: str
    seconds: float
    passed: int
    skipped: list[str]
    failed: list[str]
    code: int


def run(suite: Suite, long: bool, report: Path) -> Outcome:
    """Run one suite as a process of its own."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", suite.folder, f"--junit-xml={report}"]
    command += ["-n", str(suite.workers), "--dist", "worksteal"] if suite.workers else []
    command += [] if long else ["-m", "not long"]
    environment = os.environ | {"HYPOTHESIS_PROFILE": "long" if long else "quick"}
    code = subprocess.run(command, check=False, env=environment).returncode
    seconds = time.monotonic() - started
    return Outcome(suite.folder, seconds, *read_report(report), code)


def read_report(report: Path) -> tuple[int, list[str], list[str]]:
    """Tests that passed, "name: reason" of each skipped one, names of those that failed."""
    passed, skipped, failed = 0, [], []
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if skip is not None:
            skipped.append(f"{name}: {skip.get('message')}")
        elif case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        else:
            passed += 1
    return passed, skipped, failed


def main() -> int:
    """Run all suites, print the table; 0 when each passed and none skipped whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="explore in full")
    long = parser.parse_args().long
    with TemporaryDirectory() as folder:
        outcomes = [
            run(suite, long, Path(folder) / f"{index}.xml") for index, suite in enumerate(SUITES)
        ]
    total = sum(outcome.seconds for outcome in outcomes)
    print("\nsuite            seconds  share   ran  skipped")
    for outcome in outcomes:
        share = 100 * outcome.seconds / total
        print(
            f"{outcome.folder:<16} {outcome.seconds:7.1f} {share:5.0f}%"
            f" {outcome.passed:5d} {len(outcome.skipped):8d}"
        )
        for skip in outcome.skipped:
            print(f"    skipped {skip}")
        for name in outcome.failed:
            print(f"    FAILED {name}")
    failed = [o.folder for o in outcomes if o.code != 0 or o.passed == 0]
    if failed:
        print(f"failed: {', '.join(failed)}")
        return 1
    if total > LIMIT_SECONDS and not long:
        print(f"note: {total:.0f} s is over the {LIMIT_SECONDS} s this command should take")
    print(f"{sum(o.passed for o in outcomes)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
