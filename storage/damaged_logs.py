"""Logs that are here and not served: records that were durable are not what they were.

What a start found damaged keeps its files, and its entries in the checkpoint files, as they were.
The log directory serves its other logs, but its shutdown does not count as clean: what follows the
damage was not recovered, and the next start has to find all this again. The remedy is
`tidelog log repair`, into a new directory. Nothing empty is ever made in such a log's place.
"""

import logging
from typing import NamedTuple

from protocol.model import TopicPartition
from storage.errors import DamagedLog
from storage.log.environment import LogIdentity

logger = logging.getLogger(__name__)


class Damage(NamedTuple):
    """A damaged log, and what is wrong with it."""

    identity: LogIdentity
    cause: DamagedLog


class DamagedLogs:
    """The damaged logs of a broker, by partition."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[TopicPartition, Damage] = {}

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> list[Damage]:
        """Every damaged log."""
        return list(self._found.values())

    def add(self, identity: LogIdentity, cause: DamagedLog) -> None:
        """Take note, and tell the operator what to do."""
        self._found[identity.topic_partition] = Damage(identity, cause)
        logger.error(
            "Log of partition %s in %s is damaged and not served, its files are left as they are: "
            "%s, position %d: %s. Restore it from another replica or a backup, or run: "
            "tidelog log repair %s",
            identity.topic_partition,
            identity.log_dir,
            cause.path,
            cause.position,
            cause.reason,
            identity.directory,
        )

    def lie_in(self, log_dir: str) -> int:
        """How many of a log directory."""
        return sum(damage.identity.log_dir == log_dir for damage in self._found.values())
