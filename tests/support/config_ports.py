"""Fakes of what the config handlers reach through ports: the controller's store and log levels."""

from collections.abc import Callable, Mapping

from broker.context import Peer, RequestContext
from broker.loggers import ROOT
from cluster.controller.messages import MetadataUpdate, PartitionMetadata
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.headers import RequestHeader
from protocol.model import TopicPartition
from protocol.schema.message import Request


class StoredConfigs:
    """A `ConfigWriter` that remembers; topics it was not told of do not exist."""

    def __init__(self, topics: Mapping[str, Mapping[str, str]]) -> None:
        self.stored: dict[tuple[str, str], dict[str, str]] = {
            ("topics", name): dict(config) for name, config in topics.items()
        }
        self.writes = 0

    async def change_configs(
        self,
        entity_type: str,
        name: str,
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
    ) -> None:
        if entity_type == "topics" and (entity_type, name) not in self.stored:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        held = self.stored.get((entity_type, name), {})
        self.stored[entity_type, name] = dict(change(held))
        self.writes += 1


class HeldLevels:
    """`LoggerLevels` in a dictionary."""

    def __init__(self) -> None:
        self.held = {ROOT: "INFO", "broker.dispatch": "INFO"}

    def levels(self) -> dict[str, str]:
        return dict(self.held)

    def set_level(self, name: str, level: str | None) -> None:
        self.held[name] = self.held[ROOT] if level is None else level


def metadata_of(topics: Mapping[str, Mapping[str, str]]) -> MetadataCache:
    """A cache that knows `topics`, each with one partition and the given overrides."""
    metadata = MetadataCache("cluster")
    partitions = [
        PartitionMetadata(TopicPartition(name, 0), bytes(15) + bytes([index]), 1, 0, (1,), 0, (1,))
        for index, name in enumerate(topics, 1)
    ]
    metadata.apply(MetadataUpdate(1, (), partitions))
    for name, overrides in topics.items():
        metadata.set_topic_overrides(name, overrides)
    return metadata


def context_of(request: Request, version: int) -> RequestContext:
    """The context of a request that came in by the only listener."""
    header = RequestHeader(int(request.api_key), version, 1, "test", 0)
    return RequestContext(header, Peer("PLAINTEXT", "127.0.0.1", "1"), 0.0)
