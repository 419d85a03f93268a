"""A record goes to its part, whatever else the partition holds."""

import logging

import pytest

from broker.coordinator.group.turn import Turn
from broker.coordinator.shard import CoordinatorRecord
from tests.support.group_shard import GroupTable


def test_records_of_kinds_nobody_reads_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    groups = GroupTable()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            groups.shard.apply(CoordinatorRecord(b"\0\x0b\0\0", b"\0\0"), 0, None)
    assert len(caplog.messages) == 1
    assert "type 11" in caplog.text


def test_a_deleted_topic_is_forgotten_part_by_part() -> None:
    groups = GroupTable()
    for number in range(1100):
        groups.commit(1, group=f"g{number}")
    groups.commit(1, topic="other")
    groups.run(lambda shard, now: shard.forget_topic("t", now))
    assert groups.shard.offsets.count() == 101
    groups.advance(0)
    assert groups.shard.offsets.count() == 1
    assert groups.replayed().offsets.count() == 1


def test_a_deleted_group_is_forgotten_with_all_it_had() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.commit(5, a, 1)
    groups.leave("both", (a, None), (b, None))
    records = groups.shard.commands.delete_group("g")
    assert [record.value for record in records] == [None, None]

    def delete(_shard: object, now_ms: int) -> Turn:
        turn = Turn(now_ms)
        turn.records += records
        return turn

    groups.run(delete)
    assert list(groups.shard.reports.listed()) == []
    assert list(groups.replayed().reports.listed()) == []
