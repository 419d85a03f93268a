"""Topics that are created because somebody asked for them.

A client is told at once that the topic is not there and comes back for it; meanwhile it is created
here, once however often it is asked for. Why it could not be created is only logged, as in Kafka
(DefaultAutoTopicCreationManager of 4.3). Internal topics are made with settings of their own.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from cluster.controller.topics import NewTopic, TopicResult
from cluster.metadata_cache import INTERNAL_TOPICS
from protocol.errors import ErrorCode, KafkaError
from protocol.model import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC

Create = Callable[[Sequence[NewTopic]], Awaitable[list[TopicResult]]]
Spawn = Callable[[str, Coroutine[Any, Any, None]], object]

_logger = logging.getLogger(__name__)


def consumer_offsets(partitions: int, replication_factor: int, segment_bytes: int) -> NewTopic:
    """The topic that keeps groups and their offsets."""
    configs = (
        ("cleanup.policy", "compact"),
        ("compression.type", "producer"),
        ("segment.bytes", str(segment_bytes)),
    )
    return NewTopic(CONSUMER_OFFSETS_TOPIC, partitions, replication_factor, configs=configs)


def transaction_state(
    partitions: int, replication_factor: int, segment_bytes: int, min_insync_replicas: int
) -> NewTopic:
    """The topic that keeps transactions; it never gives up what was acknowledged."""
    configs = (
        ("cleanup.policy", "compact"),
        ("compression.type", "uncompressed"),
        ("segment.bytes", str(segment_bytes)),
        ("min.insync.replicas", str(min_insync_replicas)),
        ("unclean.leader.election.enable", "false"),
    )
    return NewTopic(TRANSACTION_STATE_TOPIC, partitions, replication_factor, configs=configs)


class AutoCreation:
    """Creates topics in the background; `internal` has those with settings of their own."""

    def __init__(
        self,
        create: Create,
        spawn: Spawn,
        is_enabled: Callable[[], bool],
        internal: Mapping[str, Callable[[], NewTopic]],
    ) -> None:
        self._create = create
        self._spawn = spawn
        self._is_enabled = is_enabled
        self._internal = internal
        self._under_way: set[str] = set()

    @property
    def is_enabled(self) -> bool:
        """Whether asking for an ordinary topic may create it."""
        return self._is_enabled()

    def begin(self, names: Sequence[str]) -> None:
        """Create the topics in the background, but for those that are being created already.

        An internal topic whose settings are not known is not created: with those of an ordinary
        one it would lose what is kept in it.
        """
        fresh = [
            name
            for name in dict.fromkeys(names)
            if name not in self._under_way
            and (name in self._internal or name not in INTERNAL_TOPICS)
        ]
        if fresh:
            self._under_way.update(fresh)
            self._spawn("auto-create-topics", self._run(fresh))

    async def _run(self, names: list[str]) -> None:
        try:
            results = await self._create([self._wanted(name) for name in names])
        except KafkaError as error:
            _logger.warning("Could not create topics %s: %s", ", ".join(names), error)
            return
        finally:
            self._under_way.difference_update(names)
        for result in results:
            if result.error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                reason = result.message or result.error.text
                _logger.warning("Could not create topic %s: %s", result.name, reason)

    def _wanted(self, name: str) -> NewTopic:
        internal = self._internal.get(name)
        return NewTopic(name) if internal is None else internal()
