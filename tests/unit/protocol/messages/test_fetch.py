from protocol.messages.fetch import FetchRequest, ReplicaState


def test_who_fetches_is_read_from_wherever_the_version_says_it() -> None:
    consumer = FetchRequest()
    assert (consumer.fetching_replica_id, consumer.fetching_replica_epoch) == (-1, -1)
    old = FetchRequest.decode(FetchRequest(replica_id=4).encode(14), 14)
    assert (old.fetching_replica_id, old.fetching_replica_epoch) == (4, -1)
    state = ReplicaState(replica_id=5, replica_epoch=70)
    new = FetchRequest.decode(FetchRequest(replica_state=state).encode(15), 15)
    assert (new.fetching_replica_id, new.fetching_replica_epoch) == (5, 70)
