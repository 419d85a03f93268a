from cluster.controller.election import elect_offline, elect_preferred, first_state, has_live_leader
from cluster.znodes import PartitionState

STATE = PartitionState(1, 4, (1, 2), 1, 9)


def test_all_live_replicas_of_a_new_partition_are_in_sync_and_the_first_leads() -> None:
    assert first_state((3, 1, 2), {1, 2}, 7) == PartitionState(1, 0, (1, 2), 7, 0)
    assert first_state((3,), {1, 2}, 7) is None


def test_a_stored_leader_that_is_alive_goes_on() -> None:
    assert has_live_leader(STATE, {1})
    assert not has_live_leader(STATE, {2})
    assert not has_live_leader(STATE._replace(leader=-1), {-1, 1})


def test_the_first_assigned_live_in_sync_replica_takes_over_in_the_next_epoch() -> None:
    elected = elect_offline(STATE, (3, 2, 1), {2, 3}, 8, unclean=True)
    assert elected == PartitionState(2, 5, (2,), 8, 9)


def test_without_a_live_in_sync_replica_only_an_unclean_election_finds_a_leader() -> None:
    assert elect_offline(STATE, (1, 2, 3), {3}, 8, unclean=False) is None
    assert elect_offline(STATE, (1, 2, 3), {3}, 8, unclean=True) == PartitionState(3, 5, (3,), 8, 9)
    assert elect_offline(STATE, (1, 2, 3), set(), 8, unclean=True) is None


def test_the_preferred_replica_is_elected_when_it_is_alive_and_in_sync() -> None:
    state = PartitionState(2, 4, (2, 1, 3), 1, 9)
    assert elect_preferred(state, (1, 2, 3), {1, 2}, 7) == PartitionState(1, 5, (2, 1), 7, 9)
    assert elect_preferred(state, (1, 2, 3), {2, 3}, 7) is None
    assert elect_preferred(state._replace(isr=(2, 3)), (1, 2, 3), {1, 2, 3}, 7) is None
