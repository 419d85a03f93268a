"""What an audit tells: what does not hold, where, how bad it is and what to do about it.

ERROR     something that was promised is broken: records, or what finds and vouches for them
WARNING   a start mends or ignores it, or nothing tells whether it is right
INFO      as it should be after what happened here: a leftover, the end of an unclean stop
"""

import enum
from typing import NamedTuple

MOST_PER_FILE = 20


class Severity(enum.IntEnum):
    """How bad a finding is."""

    INFO = 0
    WARNING = 1
    ERROR = 2


class Finding(NamedTuple):
    """Something found, in which file, at which byte position and log offset where these say more.

    `problem` is a sentence without them.
    """

    path: str
    problem: str
    severity: Severity = Severity.ERROR
    position: int | None = None
    offset: int | None = None
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class Findings:
    """A list that stays readable: of each file the first findings of each severity are kept."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._counts: dict[tuple[str, Severity], int] = {}

    def add(self, finding: Finding) -> None:
        """Keep one, or count it."""
        key = finding.path, finding.severity
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count <= MOST_PER_FILE:
            self._kept.append(finding)

    def result(self) -> list[Finding]:
        """All that was kept, in order, then how many were not."""
        left = [
            Finding(path, f"{count - MOST_PER_FILE} more findings", severity)
            for (path, severity), count in self._counts.items()
            if count > MOST_PER_FILE
        ]
        return self._kept + left


class Promise(NamedTuple):
    """How far the files of one log must be right.

    After a clean shutdown all the way, otherwise up to the recovery point: a start reads again what
    lies beyond. `strict` asks of batches and indexes to be right everywhere, as they are after a
    start. `running`: a broker is writing to the last segment now.
    """

    clean: bool = False
    recovery_point: int = 0
    strict: bool = False
    running: bool = False

    def holds_at(self, offset: int) -> bool:
        """Whether what the log has at an offset was promised to be durable."""
        return self.clean or offset < self.recovery_point

    def of_content(self, offset: int) -> Severity:
        """How bad a fault in batch or index is, of a segment or at an offset."""
        return Severity.ERROR if self.strict or self.holds_at(offset) else Severity.INFO


MEND_BY_RECOVERY = "none needed: the next start reads this part again and mends it"
MEND_BY_REBUILD = "stop the broker and delete the file: the next start makes it anew from the .log"
MEND_BY_REPAIR = (
    "restore the replica from another broker, or `tidelog log repair`, which keeps what is right"
)
MEND_BY_START = "none needed: the next start writes it anew"
