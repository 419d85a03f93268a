"""The store of offsets: what records and markers tell, in any order."""

import logging

import pytest

from broker.coordinator.group.offset_records import key_prefix
from broker.coordinator.group.offsets import OffsetStore, OffsetToCommit, tombstone
from broker.coordinator.shard import CoordinatorRecord, Writer
from protocol.internal.coordinator_record import UndecodableRecord

ID = b"i" * 16
TXN = Writer(7, 0)


class Store(OffsetStore):
    """Commits and applies at once."""

    next_offset = 0

    def put(
        self, offset: int, writer: Writer | None = None, *, group: str = "g", partition: int = 0
    ) -> None:
        for record in self.commit(group, "t", ID, [OffsetToCommit(partition, offset, 1, "")], 5):
            self.record(record, writer)

    def record(self, record: CoordinatorRecord, writer: Writer | None = None) -> None:
        self.apply(record, self.next_offset, writer)
        self.next_offset += 1

    def at(self, partition: int = 0) -> int | None:
        found = self.committed("g", "t", partition)
        return None if found is None else found.offset


def test_the_last_commit_counts_and_a_tombstone_forgets() -> None:
    store = Store()
    store.put(1)
    store.put(2)
    store.put(9, partition=3)
    assert (store.at(), store.at(3), store.at(1)) == (2, 9, None)
    assert store.count() == 2
    store.record(tombstone("g", "t", 0))
    store.record(tombstone("g", "t", 0))
    store.record(tombstone("g", "u", 0))
    assert (store.at(), store.at(3)) == (None, 9)
    store.record(tombstone("g", "t", 3))
    assert not store.has_offsets("g")
    assert list(store.groups()) == []
    store.put(4)
    assert store.at() == 4


def test_a_transactions_offsets_count_when_it_commits() -> None:
    store = Store()
    store.put(1)
    store.put(5, TXN)
    assert (store.at(), store.is_pending("g", "t", 0)) == (1, True)
    store.apply_marker(TXN, committed=True)
    assert (store.at(), store.is_pending("g", "t", 0)) == (5, False)
    store.put(8, TXN)
    store.apply_marker(TXN, committed=False)
    assert store.at() == 5
    store.apply_marker(TXN, committed=True)
    assert store.at() == 5


def test_what_was_said_after_a_pending_offset_is_newer() -> None:
    store = Store()
    store.put(5, TXN)
    store.put(6)
    store.apply_marker(TXN, committed=True)
    assert store.at() == 6


def test_a_group_of_pending_offsets_alone_exists() -> None:
    store = Store()
    store.put(5, TXN)
    assert store.has_offsets("g")
    assert list(store.groups()) == ["g"]
    assert store.tombstones("g") == [tombstone("g", "t", 0)]
    store.record(tombstone("g", "t", 0))
    store.apply_marker(TXN, committed=True)
    assert not store.has_offsets("g")


def test_keys_of_the_first_version_are_the_same_place() -> None:
    store = Store()
    store.put(1)
    (record,) = store.commit("g", "t", ID, [OffsetToCommit(0, 2, 1, "")], 5)
    old = key_prefix("g", "t", 0) + record.key[-4:]
    store.record(CoordinatorRecord(old, record.value))
    assert store.at() == 2
    store.record(CoordinatorRecord(old, None))
    assert not store.has_offsets("g")


def test_what_cannot_be_understood_is_nothing_and_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store()
    key = tombstone("g", "t", 0).key
    store.record(CoordinatorRecord(key, b"\0\4" + b"\xff" * 30))
    with caplog.at_level(logging.ERROR):
        assert store.at() is None
    assert "g in t-0" in caplog.text
    with pytest.raises(UndecodableRecord):
        store.record(CoordinatorRecord(key, b"\0\4"))
    with pytest.raises(UndecodableRecord):
        store.record(CoordinatorRecord(b"\0\1\0\5ab\0\0\0\0", b"\0\4" + bytes(30)))


def test_a_topic_is_forgotten_a_part_at_a_time() -> None:
    store = Store()
    for partition in range(5):
        store.put(1, partition=partition)
    store.put(1, group="h")
    first = store.tombstones_of_topic("t", 4)
    assert len(first) == 4
    for record in first:
        store.record(record)
    for record in store.tombstones_of_topic("t", 4):
        store.record(record)
    assert store.count() == 0


def test_what_has_expired_goes_unless_it_is_wanted_or_pending() -> None:
    store = Store()
    for partition in range(3):
        store.put(partition, partition=partition)
    store.put(9, TXN, partition=2)
    gone, nothing_left = store.expired("g", lambda _: False, lambda one: one.offset > 0)
    assert (gone, nothing_left) == ([tombstone("g", "t", 1)], False)
    gone, nothing_left = store.expired("g", lambda _: True, lambda _: True)
    assert (gone, nothing_left) == ([], False)
    store.apply_marker(TXN, committed=False)
    gone, nothing_left = store.expired("g", lambda _: False, lambda _: True)
    assert (len(gone), nothing_left) == (3, True)
