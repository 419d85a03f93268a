"""What a process and its children cost, read from /proc: processor time and memory.

Processor time is of the whole tree, user and system, from the scheduler's own accounts in ticks of
10 ms; figures therefore measure for seconds, not moments. Memory is the proportional set size
(PSS): a page shared by two processes counts half for each.
"""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        try:
            for children in Path(f"/proc/{parent}/task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    """User and system seconds of the tree since each process began, ended children included."""
    total = 0
    for member in tree(pid):
        try:
            stat = Path(f"/proc/{member}/stat").read_text()
        except OSError:
            continue
        fields = stat.rpartition(") ")[2].split()
        total += sum(int(fields[index]) for index in (11, 12, 13, 14))
    return total / TICKS


def pss_mb(pid: int) -> float:
    """Proportional set size of the tree in MB (10^6 bytes)."""
    total = 0
    for member in tree(pid):
        for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total / 1e6
