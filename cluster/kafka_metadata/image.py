"""What a cluster consists of, wherever it was read from: KRaft's log, znodes, or directories."""

from collections import Counter
from typing import NamedTuple

TOPICS = "topics"
BROKERS = "brokers"


class PartitionImage(NamedTuple):
    """Replicas of a partition and its leadership; leader -1 is none.

    `eligible` are those that may lead though they are not in sync: they left as the last (KIP-966).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    eligible: tuple[int, ...] = ()


class TopicImage(NamedTuple):
    """A topic; its id is zero where a Kafka older than ids made it."""

    name: str
    topic_id: bytes
    partitions: dict[int, PartitionImage]


class ClusterImage:
    """Topics by name, settings by ("topics" | "brokers") and name, and the next producer id.

    `cluster_id` is None where the source does not name it; `left_behind` counts what was found
    there and has no place in an image; `origin` tells people where it came from.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.cluster_id: str | None = None
        self.topics: dict[str, TopicImage] = {}
        self.configs: dict[str, dict[str, dict[str, str]]] = {TOPICS: {}, BROKERS: {}}
        self.next_producer_id = 0
        self.controller_epoch = 0
        self.live_brokers: set[int] = set()
        self.broker_epochs: dict[int, int] = {}
        self.left_behind: Counter[str] = Counter()
        self.settings_unknown = False

    def topic_configs(self, name: str) -> dict[str, str]:
        """The settings of a topic's own."""
        return self.configs[TOPICS].get(name, {})
