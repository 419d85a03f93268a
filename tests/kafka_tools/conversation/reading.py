"""Fetching, sessions, offsets by time and by epoch, and deleting records."""

from collections.abc import Iterable, Sequence
from typing import Any

from protocol.api_keys import ApiKey
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.schema.message import Response
from tests.kafka_tools.conversation.batches import DAMAGED, TIME, batch
from tests.kafka_tools.conversation.produce import produce
from tests.kafka_tools.conversation.topics import PREPARED, UNKNOWN_ID
from tests.kafka_tools.side import Side, Step

MEGABYTE = 1 << 20


def part(index: int = 0, offset: int = 0, **fields: Any) -> FetchPartition:
    return FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=fields.pop("most", MEGABYTE),
        **fields,
    )


def fetch(
    name: str,
    parts: Sequence[tuple[str, FetchPartition]],
    version: int = 12,
    *,
    session: str | None = None,
    epoch: int = -1,
    forgotten: Sequence[tuple[str, int]] = (),
    **fields: Any,
) -> Step:
    """A fetch; `session` names the session whose id an earlier step learned."""

    def request(side: Side) -> FetchRequest:
        by_topic: dict[str, list[FetchPartition]] = {}
        for topic, wanted in parts:
            by_topic.setdefault(topic, []).append(wanted)
        ids = side.topic_ids
        return FetchRequest(
            topics=[
                FetchTopic(topic=topic, topic_id=ids.get(topic, UNKNOWN_ID), partitions=wanted)
                for topic, wanted in by_topic.items()
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic=topic, topic_id=ids.get(topic, UNKNOWN_ID), partitions=[index])
                for topic, index in forgotten
            ],
            session_id=side.values.get(session, 0) if session else 0,
            session_epoch=epoch,
            max_wait_ms=fields.get("max_wait_ms", 0),
            min_bytes=fields.get("min_bytes", 0),
            max_bytes=fields.get("max_bytes", MEGABYTE),
            isolation_level=fields.get("isolation_level", 0),
            replica_id=fields.get("replica_id", -1) if version < 15 else -1,
            replica_state=fields.get("replica_state"),
        )

    def learn(side: Side, response: Response) -> None:
        if session and epoch == 0:
            assert isinstance(response, FetchResponse)
            side.values[session] = response.session_id

    return Step(f"fetch-{name}-v{version}", version, request, ApiKey.FETCH, False, learn)


def filling() -> Iterable[Step]:
    for count in (3, 1, 5, 2):
        yield produce(f"to-fetch-{count}", [("c-fetch", 0, batch(count)), ("c-fetch", 1, batch(1))])


def fetches() -> Iterable[Step]:
    for version in range(4, 19):
        for offset in (0, 2, 3, 10, 11, 12, -1):
            yield fetch(f"from-{offset}", [("c-fetch", part(0, offset))], version)
        yield fetch("unknown", [("c-missing", part()), ("c-fetch", part(7))], version)
        yield fetch("committed", [("c-fetch", part(0, 1))], version, isolation_level=1)
        yield fetch("beyond-committed", [("c-fetch", part(0, 50))], version, isolation_level=1)
    yield fetch("several", [("c-fetch", part()), ("c-plain", part(2)), ("c-fetch", part(1))])
    yield fetch("twice", [("c-fetch", part(0, 5)), ("c-fetch", part(0, 0))])
    yield fetch("nothing", [])
    for most in (0, 1, 70, 100, 200, -1):
        yield fetch(f"partition-bytes-{most}", [("c-fetch", part(0, 1, most=most))])
        yield fetch(f"bytes-{most}", [("c-fetch", part()), ("c-plain", part())], max_bytes=most)
    yield fetch("first-empty-then-small", [
        ("c-fetch", part(0, 11)), ("c-fetch", part(1, 0, most=1)), ("c-plain", part(most=1)),
    ])  # fmt: skip
    yield fetch("isolation-5", [("c-fetch", part())], isolation_level=5)
    yield fetch("waiting", [("c-fetch", part(0, 11))], max_wait_ms=50, min_bytes=1)
    yield fetch("waiting-with-error", [
        ("c-fetch", part(0, 11)), ("c-fetch", part(9))], max_wait_ms=200, min_bytes=1)  # fmt: skip
    for epoch in (-1, 0, 1, 5, -5):
        yield fetch(f"leader-epoch-{epoch}", [("c-fetch", part(current_leader_epoch=epoch))])
        yield fetch(f"fetched-epoch-{epoch}", [("c-fetch", part(0, 2, last_fetched_epoch=epoch))])
    yield fetch("leader-epoch", [("c-fetch", part(current_leader_epoch=3))], 9)
    yield fetch("fetched-epoch-beyond", [("c-fetch", part(0, 90, last_fetched_epoch=0))])
    yield fetch("log-start-given", [("c-fetch", part(log_start_offset=4))])
    for replica in (1, 2, -2, -3):
        yield fetch(f"replica-{replica}", [("c-fetch", part())], 11, replica_id=replica)
        state = ReplicaState(replica_id=replica, replica_epoch=0)
        yield fetch(f"replica-{replica}", [("c-fetch", part())], 15, replica_state=state)
    for topic, (partitions, _) in PREPARED.items():
        if topic not in ("c-append-time", "c-uncompressed", "c-records", "c-bad-batches"):
            parts = [(topic, part(index)) for index in range(partitions)]
            yield fetch(f"all-of-{topic}", parts)
    for index, name in enumerate(DAMAGED):
        yield fetch(f"kept-of-{name}", [("c-bad-batches", part(index))])
    yield fetch("all-of-c-uncompressed", [("c-uncompressed", part())])


def sessions() -> Iterable[Step]:
    for version in (7, 11, 12, 13, 17):
        yield from session_of(version)
    yield fetch("session-unknown", [("c-fetch", part())], session="none", epoch=5)
    yield fetch("session-epoch-without-id", [("c-fetch", part())], epoch=3)


def session_of(version: int) -> Iterable[Step]:
    """One session from its opening to after its end."""

    def say(
        name: str, parts: Sequence[tuple[str, FetchPartition]], epoch: int, **fields: Any
    ) -> Step:
        session = f"session-{version}"
        return fetch(f"session-{name}", parts, version, session=session, epoch=epoch, **fields)

    names = [("c-fetch", part(0)), ("c-fetch", part(1)), ("c-missing", part(0))]
    yield say("new", names, 0)
    yield say("nothing-new", [], 1)
    yield say("moved-on", [("c-fetch", part(0, 11))], 2)
    yield say("idle", [], 3)
    yield say("wrong-epoch", [], 9)
    yield say("forget", [], 4, forgotten=[("c-fetch", 1)])
    yield say("forget-unknown", [], 5, forgotten=[("c-plain", 1)])
    yield say("add", [("c-plain", part(2))], 6)
    yield say("add-bad", [("c-plain", part(77))], 7)
    yield say("old-epoch", [], 2)
    yield say("final", [("c-fetch", part(0, 3))], -1)
    yield say("gone", [], 8)


def list_offsets(
    name: str, wanted: Sequence[tuple[str, int, int]], version: int, **fields: Any
) -> Step:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for topic, index, timestamp in wanted:
        by_topic.setdefault(topic, []).append(
            ListOffsetsPartition(
                partition_index=index,
                timestamp=timestamp,
                current_leader_epoch=fields.get("leader_epoch", -1),
            )
        )
    request = ListOffsetsRequest(
        replica_id=fields.get("replica_id", -1),
        isolation_level=fields.get("isolation_level", 0),
        topics=[ListOffsetsTopic(name=n, partitions=p) for n, p in by_topic.items()],
        timeout_ms=1000,
    )
    return Step(f"list-offsets-{name}-v{version}", version, lambda _: request, ApiKey.LIST_OFFSETS)


def offsets() -> Iterable[Step]:
    times = [-1, -2, -3, -4, -5, -6, -7, 0, TIME, TIME + 1, TIME + 4, TIME + 5, 2**62]
    for version in range(1, 12):
        for timestamp in times:
            yield list_offsets(f"at-{timestamp}", [("c-fetch", 0, timestamp)], version)
        yield list_offsets("unknown", [("c-missing", 0, -1), ("c-fetch", 9, -1)], version)
        yield list_offsets("empty", [("c-empty", 0, 5), ("c-fetch", 1, -1)], version)
    for timestamp in (-1, -2, -3):
        yield list_offsets(f"of-empty-{timestamp}", [("c-empty", 0, timestamp)], 9)
        committed = [("c-fetch", 0, timestamp)]
        yield list_offsets(f"committed-{timestamp}", committed, 9, isolation_level=1)
        yield list_offsets(f"compressed-{timestamp}", [("c-records", 0, timestamp)], 9)
    yield list_offsets("compressed-time", [("c-records", 0, TIME + 7)], 9)
    yield list_offsets("twice", [("c-fetch", 0, -1), ("c-fetch", 0, -1)], 9)
    yield list_offsets("isolation-7", [("c-fetch", 0, -1)], 9, isolation_level=7)
    for epoch in (0, 1, -3):
        yield list_offsets(f"epoch-{epoch}", [("c-fetch", 0, -1)], 9, leader_epoch=epoch)
    for replica in (1, 2, -2):
        yield list_offsets(f"replica-{replica}", [("c-fetch", 0, -1)], 9, replica_id=replica)
    for version in (2, 3, 4):
        for epoch in (-1, 0, 1, 7, -2):
            for current in (-1, 0, 2):
                yield epoch_end(f"{epoch}-as-of-{current}", "c-fetch", 0, epoch, current, version)
        yield epoch_end("unknown-topic", "c-missing", 0, 0, -1, version)
        yield epoch_end("unknown-partition", "c-fetch", 9, 0, -1, version)
        yield epoch_end("empty", "c-empty", 0, 0, -1, version)


def epoch_end(name: str, topic: str, index: int, epoch: int, current: int, version: int) -> Step:
    wanted = OffsetForLeaderPartition(
        partition=index, current_leader_epoch=current, leader_epoch=epoch
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    )
    return Step(
        f"epoch-end-{name}-v{version}", version, lambda _: request, ApiKey.OFFSET_FOR_LEADER_EPOCH
    )


def delete_records(name: str, wanted: Sequence[tuple[str, int, int]], version: int = 2) -> Step:
    by_topic: dict[str, list[DeleteRecordsPartition]] = {}
    for topic, index, offset in wanted:
        one = DeleteRecordsPartition(partition_index=index, offset=offset)
        by_topic.setdefault(topic, []).append(one)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=n, partitions=p) for n, p in by_topic.items()],
        timeout_ms=10_000,
    )
    return Step(
        f"delete-records-{name}-v{version}",
        version,
        lambda _: request,
        ApiKey.DELETE_RECORDS,
        False,
    )


def record_deletions() -> Iterable[Step]:
    for version in range(3):
        yield delete_records("before", [("c-fetch", 0, version + 1)], version)
        yield delete_records("unknown", [("c-missing", 0, 1), ("c-fetch", 9, 1)], version)
        yield delete_records("beyond", [("c-fetch", 0, 99)], version)
    yield delete_records("again", [("c-fetch", 0, 1)])
    yield delete_records("minus-two", [("c-fetch", 0, -2)])
    yield delete_records("compacted", [("c-compact", 0, 1)])
    yield delete_records("compacted-and-deleted", [("c-both", 0, 1)])
    yield delete_records("end", [("c-fetch", 1, -1)])
    yield delete_records("empty-topic", [("c-empty", 0, -1), ("c-empty", 0, 0)])
    yield delete_records("good-and-bad", [("c-fetch", 0, 5), ("c-plain", 0, 10**9)])
    yield delete_records("bad-name", [("a b", 0, 5)])
    yield delete_records("nothing", [])
    for version in (4, 12, 17):
        for offset in (0, 4, 5, 11):
            yield fetch(f"cut-{offset}", [("c-fetch", part(0, offset))], version)
    for timestamp in (-1, -2, -3, -4, TIME):
        yield list_offsets(f"cut-{timestamp}", [("c-fetch", 0, timestamp)], 9)
        yield list_offsets(f"all-cut-{timestamp}", [("c-fetch", 1, timestamp)], 9)
    yield epoch_end("cut", "c-fetch", 0, 0, -1, 4)
