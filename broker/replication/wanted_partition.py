"""One partition a reader wants, as a request or its fetch session names it."""

from typing import Final

from protocol.model import TopicPartition

UNKNOWN: Final = -1

# (topic id, partition) where the request names topics by id, (topic, partition) otherwise.
WantedKey = tuple[bytes, int] | tuple[str, int]


class WantedPartition:
    """Where to read next, kept between requests by a fetch session.

    `topic_partition` is None as long as no topic has the id that was asked for. `sent_*` is what
    the session's client was last told (-1: nothing, or an error), see `FetchSession`.
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "sent_high_watermark",
        "sent_log_start_offset",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition | None,
        topic_id: bytes,
        partition: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = UNKNOWN,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.sent_high_watermark = UNKNOWN
        self.sent_log_start_offset = UNKNOWN

    def __repr__(self) -> str:
        return f"WantedPartition({self.topic_partition}, offset={self.fetch_offset})"

    def adopt(self, newer: "WantedPartition") -> None:
        """Take over the position and limits of a newer request; what was sent stays known."""
        self.topic_partition = newer.topic_partition
        self.fetch_offset = newer.fetch_offset
        self.max_bytes = newer.max_bytes
        self.current_leader_epoch = newer.current_leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch
        self.log_start_offset = newer.log_start_offset
