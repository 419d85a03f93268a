from cluster.controller.in_sync import without_replica
from cluster.znodes import PartitionState


def test_a_follower_that_is_lost_leaves_the_set_in_a_new_epoch() -> None:
    state = PartitionState(1, 4, (1, 2), 1, 9)
    assert without_replica(state, 2, 8) == PartitionState(1, 5, (1,), 8, 9)


def test_a_leader_that_is_lost_leaves_no_leader() -> None:
    state = PartitionState(1, 4, (1, 2), 1, 9)
    assert without_replica(state, 1, 8) == PartitionState(-1, 5, (2,), 8, 9)


def test_the_last_member_stays() -> None:
    state = PartitionState(1, 4, (1,), 1, 9)
    lost = without_replica(state, 1, 8)
    assert lost == PartitionState(-1, 5, (1,), 8, 9)
    assert without_replica(lost, 1, 8) is None


def test_a_replica_outside_the_set_changes_nothing() -> None:
    assert without_replica(PartitionState(1, 4, (1,), 1, 9), 2, 8) is None
