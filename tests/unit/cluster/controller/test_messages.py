from cluster.controller import messages
from protocol.model import NO_LEADER, TopicPartition


def test_the_marks_of_deletion_are_kafkas_and_no_leader_is_the_protocols() -> None:
    assert messages.NO_LEADER == NO_LEADER
    assert messages.LEADER_DURING_DELETE == messages.EPOCH_DURING_DELETE == -2


def test_leadership_is_not_new_unless_said() -> None:
    state = messages.LeaderAndIsr(TopicPartition("t", 0), b"i" * 16, 1, 0, (1,), 0, (1,))
    assert not state.is_new
