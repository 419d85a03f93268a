"""Groups in numbers, with members or without."""

from broker.handlers.leave_group import handle_leave_group
from broker.metrics.group_families import group_pieces
from protocol.messages.leave_group import LeaveGroupRequest
from tests.support.group_broker import GroupBroker
from tests.unit.broker.handlers.test_offset_fetch import with_offsets


def numbers(groups: GroupBroker) -> dict[tuple[str, ...], float]:
    return {
        (piece.family.name, *sample.labels.values()): sample.value
        for piece in group_pieces(groups.groups, groups.broker.replicas)
        for sample in piece.samples
    }


def test_lag_is_shown_for_a_group_without_members() -> None:
    groups = with_offsets()
    for _ in range(8):
        groups.broker.append("t", 0)
    shown = numbers(groups)
    assert shown["kafka_consumergroup_current_offset", "g", "t", "0"] == 5
    assert shown["kafka_consumergroup_lag", "g", "t", "0"] == 3
    assert shown["kafka_consumergroup_lag_sum", "g", "t"] == 3
    assert ("kafka_consumergroup_members", "g") not in shown


def test_groups_are_counted_by_state_and_rebalances_by_reason() -> None:
    groups = GroupBroker()
    member_id = groups.member()
    groups.member("h", settle=False)
    shown = numbers(groups)
    states = "kafka_coordinator_group_groupmetadatamanager_numgroups"
    assert (shown[(states,)], shown[(f"{states}stable",)]) == (2, 1)
    assert shown[(f"{states}completingrebalance",)] == 1
    assert shown["kafka_consumergroup_members", "g"] == 1
    groups.ask(handle_leave_group, LeaveGroupRequest(group_id="g", member_id=member_id), 0)
    shown = numbers(groups)
    assert shown["tidelog_group_rebalances", "member left"] == 1
    assert shown["tidelog_group_rebalances", "member joined"] == 2
    assert shown[(f"{states}empty",)] == 1
