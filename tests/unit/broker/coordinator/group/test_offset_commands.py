"""Committing, fetching, deleting and forgetting offsets: what is allowed, and when they end."""

import pytest

from broker.coordinator.group.offset_commands import MINUTE_MS
from broker.coordinator.group.turn import Turn
from protocol.errors import ErrorCode
from tests.support.group_shard import GroupTable, Values

RETENTION_MS = 10 * MINUTE_MS


def codes(told: object) -> list[int]:
    assert isinstance(told, list), told
    return [one.error_code for answers in told for one in answers]


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("nobody", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("A", 0, ErrorCode.ILLEGAL_GENERATION),
        ("A", 2, ErrorCode.ILLEGAL_GENERATION),
        ("A", 1, None),
    ],
)
def test_only_members_of_the_generation_commit_to_a_group_that_has_some(
    member: str, generation: int, code: ErrorCode | None
) -> None:
    groups = GroupTable()
    a, _ = groups.two_members()
    told = groups.commit(5, a if member == "A" else member, generation).reply
    assert told is code if code else codes(told) == [0]


def test_commits_wait_for_the_assignment_but_not_for_a_rebalance() -> None:
    groups = GroupTable()
    a = groups.enter("A")
    groups.advance(6000)
    assert groups.commit(5, a.member_id, 1).reply is ErrorCode.REBALANCE_IN_PROGRESS
    groups.sync("A", a.member_id, 1, {})
    groups.enter("B")
    assert codes(groups.commit(5, a.member_id, 1).reply) == [0]


def test_a_commit_is_a_sign_of_life() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    for _ in range(3):
        groups.advance(6000)
        groups.commit(5, a, 1)
    assert list(groups.shard.classic.groups["g"].members) == [a]
    assert groups.commit(5, b, 1).reply is ErrorCode.UNKNOWN_MEMBER_ID


def test_anybody_commits_to_a_group_without_members() -> None:
    groups = GroupTable()
    assert codes(groups.commit(5).reply) == [0]
    assert codes(groups.commit(6).reply) == [0]
    assert groups.commit(7, "m", 0).reply is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.committed() == 6


def test_a_note_that_is_too_long_refuses_its_partition_alone() -> None:
    values = Values()
    values.metadata_max_bytes = 4
    groups = GroupTable(values)
    told = groups.commit(5, metadata="12345").reply
    assert codes(told) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert codes(groups.commit(5, metadata="1234").reply) == [0]


def test_open_transactions_hide_an_offset_from_who_wants_it_stable() -> None:
    groups = GroupTable()
    groups.commit(5)
    record, _ = groups.log[-1]
    from broker.coordinator.shard import Writer

    groups.shard.apply(record, 9, Writer(7, 0))
    commands = groups.shard.commands
    ((plain,), (stable,)) = (
        commands.fetch("g", [("t", [0])], require_stable=wanted) for wanted in (False, True)
    )
    assert plain.partitions[0].committed_offset == 5
    assert stable.partitions[0].error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert stable.partitions[0].committed_offset == -1


def test_offsets_of_a_group_that_is_empty_end_a_retention_after_it_became_so() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.commit(5, a, 1)
    for _ in range(3):
        groups.advance(9000)
        groups.commit(5, a, 1)
    groups.leave("both", (a, None), (b, None))
    groups.advance(RETENTION_MS - 1)
    assert groups.committed() == 5
    groups.advance(2 * groups.values.check_ms)
    assert groups.committed() is None
    assert groups.shard.classic.groups == {}
    assert groups.replayed().classic.stored == {}


def test_offsets_of_a_simple_group_end_a_retention_after_their_commit() -> None:
    groups = GroupTable()
    groups.commit(5)
    groups.advance(300_000)
    groups.commit(6, partition=1)
    groups.advance(300_000)
    assert (groups.committed(0), groups.committed(1)) == (None, 6)
    groups.advance(600_000)
    assert list(groups.shard.reports.listed()) == []


def test_a_stable_group_forgets_what_it_does_not_subscribe_to() -> None:
    groups = GroupTable()
    a = groups.enter("A", session_ms=1_800_000)
    groups.advance(6000)
    groups.sync("A", a.member_id, 1, {})
    groups.commit(5, a.member_id, 1)
    groups.commit(6, a.member_id, 1, topic="other")
    groups.advance(1_200_000)
    assert (groups.committed(), groups.committed(topic="other")) == (5, None)


def test_an_old_client_gives_an_end_of_its_own() -> None:
    groups = GroupTable()
    groups.commit(5, version=4, retention_ms=2 * RETENTION_MS)
    groups.advance(RETENTION_MS + 1)
    assert groups.committed() == 5
    groups.advance(RETENTION_MS)
    assert groups.committed() is None


def test_many_offsets_are_forgotten_in_parts() -> None:
    groups = GroupTable()
    for number in range(450):
        groups.commit(1, group=f"g{number}")
    groups.advance(600_000)
    assert groups.shard.offsets.count() == 0


def test_an_expiry_that_is_refused_is_tried_again() -> None:
    groups = GroupTable()
    groups.commit(5)
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.advance(600_000)
    assert groups.committed() == 5
    groups.advance(600_000)
    assert groups.committed() is None


def test_offsets_a_member_wants_are_not_deleted() -> None:
    groups = GroupTable()
    a, _ = groups.two_members()
    groups.commit(5, a, 1)
    groups.commit(6, a, 1, topic="other")
    turn = Turn(groups.now_ms)
    told = groups.shard.commands.delete_offsets("g", [("t", [0]), ("other", [0, 1])], turn)
    assert told == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]
    assert len(turn.records) == 1


def test_a_group_of_another_protocol_keeps_its_offsets_while_it_has_members() -> None:
    groups = GroupTable()
    groups.join("W", version=3, protocol_type="connect")
    groups.advance(6000)
    from tests.support.replicas import code_of

    delete = groups.shard.commands.delete_offsets
    assert code_of(delete, "g", [("t", [0])], Turn(0)) is ErrorCode.NON_EMPTY_GROUP
    assert code_of(delete, "none", [], Turn(0)) is ErrorCode.GROUP_ID_NOT_FOUND
