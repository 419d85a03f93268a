"""The rules of the in-sync set (KIP-966): who counts, and how far what everyone has reaches.

Pure functions over numbers. The high watermark is the smallest log end among the replicas that
count; it stands still while fewer of them are in sync than the topic asks for.
"""

from collections.abc import Collection, Mapping
from typing import Final

UNKNOWN_OFFSET: Final = -1


class RemoteReplica:
    """What the leader knows of a follower; its fetch offset is its log end offset."""

    __slots__ = (
        "last_caught_up_ms",
        "last_fetch_leader_end",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, last_caught_up_ms: int) -> None:
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_caught_up_ms = last_caught_up_ms
        self.last_fetch_ms = 0
        self.last_fetch_leader_end = 0

    def record_fetch(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int
    ) -> None:
        """Note a fetch: caught up now, or as of its fetch before if it has all there was then."""
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_leader_end = leader_end_offset
        self.last_fetch_ms = now_ms


def effective_min_in_sync(min_insync_replicas: int, replica_count: int) -> int:
    """How many replicas have to be in sync; never more than there are."""
    return min(min_insync_replicas, replica_count)


def common_end_offset(
    own_end_offset: int, remotes: Mapping[int, RemoteReplica], in_sync: Collection[int]
) -> int:
    """The first offset that some in-sync replica lacks."""
    for replica, remote in remotes.items():
        if remote.log_end_offset < own_end_offset and replica in in_sync:
            own_end_offset = remote.log_end_offset
    return own_end_offset
