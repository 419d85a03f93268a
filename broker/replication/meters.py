"""Kafka's BrokerTopicMetrics as plain integers.

The request path adds to the topic's own counters only; the sums over all topics are made when they
are read, so a request pays for one set of additions. Invariant: a total never falls, although
topics come and go: what a deleted topic counted is kept aside.
"""

from typing import Final

COUNTERS: Final = (
    "messages_in",
    "bytes_in",
    "bytes_out",
    "bytes_rejected",
    "total_produce_requests",
    "failed_produce_requests",
    "total_fetch_requests",
    "failed_fetch_requests",
    "replication_bytes_in",
    "replication_bytes_out",
    "produce_message_conversions",
)


class TopicMeters:
    """Counters of one topic since the broker started; requests are counted once a partition."""

    __slots__ = COUNTERS

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.total_produce_requests = 0
        self.failed_produce_requests = 0
        self.total_fetch_requests = 0
        self.failed_fetch_requests = 0
        self.replication_bytes_in = 0
        self.replication_bytes_out = 0
        self.produce_message_conversions = 0


class BrokerTopicMeters:
    """All topics' counters, and what those that are gone had counted."""

    __slots__ = ("_retired", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, TopicMeters] = {}
        self._retired = TopicMeters()

    def topic(self, name: str) -> TopicMeters:
        """The counters of a topic, made at first use."""
        meters = self.topics.get(name)
        if meters is None:
            meters = self.topics[name] = TopicMeters()
        return meters

    def retire(self, name: str) -> None:
        """Drop a deleted topic's own series; its counts stay in the totals."""
        meters = self.topics.pop(name, None)
        if meters is None:
            return
        retired = self._retired
        for counter in COUNTERS:
            setattr(retired, counter, getattr(retired, counter) + getattr(meters, counter))

    def totals(self) -> dict[str, int]:
        """The sum of every counter over all topics there are and were."""
        everyone = (self._retired, *self.topics.values())
        return {
            counter: sum(getattr(meters, counter) for meters in everyone) for counter in COUNTERS
        }
