"""Who counts for the high watermark, and when a follower is caught up."""

from broker.replication.in_sync import RemoteReplica, common_end_offset, effective_min_in_sync


def remote(log_end_offset: int) -> RemoteReplica:
    replica = RemoteReplica(0)
    replica.log_end_offset = log_end_offset
    return replica


def test_the_minimum_is_never_more_than_there_are() -> None:
    assert effective_min_in_sync(2, 3) == 2
    assert effective_min_in_sync(3, 1) == 1


def test_a_sole_replica_has_everything_itself() -> None:
    assert common_end_offset(10, {}, (1,)) == 10


def test_the_slowest_in_sync_replica_decides() -> None:
    remotes = {2: remote(7), 3: remote(9)}
    assert common_end_offset(10, remotes, (1, 2, 3)) == 7


def test_replicas_out_of_sync_do_not_count() -> None:
    remotes = {2: remote(7), 3: remote(9)}
    assert common_end_offset(10, remotes, (1, 3)) == 9
    assert common_end_offset(10, remotes, (1,)) == 10


def test_a_replica_never_heard_of_holds_everything_back() -> None:
    assert common_end_offset(10, {2: RemoteReplica(0)}, (1, 2)) == -1


def test_a_fetch_at_the_leaders_end_is_caught_up_now() -> None:
    replica = RemoteReplica(0)
    replica.record_fetch(10, 0, 10, now_ms=500)
    assert replica.last_caught_up_ms == 500
    assert replica.log_end_offset == 10


def test_a_fetch_at_the_end_of_the_fetch_before_was_caught_up_then() -> None:
    replica = RemoteReplica(0)
    replica.record_fetch(5, 0, 10, now_ms=100)
    replica.record_fetch(10, 0, 20, now_ms=200)
    assert replica.last_caught_up_ms == 100
    replica.record_fetch(11, 0, 30, now_ms=300)
    assert replica.last_caught_up_ms == 100
