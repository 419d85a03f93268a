"""One client behind a shard, and one behind several."""

from broker.coordinator.parked_reply import Gathering, ParkedReply, as_it_is
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatResponse
from tests.support.tally_shard import Asker


def reply() -> ParkedReply[HeartbeatResponse]:
    return ParkedReply(as_it_is, lambda code: HeartbeatResponse(error_code=code))


def test_an_answer_and_a_refusal_become_responses() -> None:
    answered, refused = reply(), reply()
    answered.answer(HeartbeatResponse())
    refused.refuse(ErrorCode.NOT_COORDINATOR)
    assert answered.parked.result == HeartbeatResponse()
    assert refused.parked.result == HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)


def test_parts_are_told_together_in_the_order_they_were_asked_for() -> None:
    asker = Asker()
    gathering: Gathering[str] = Gathering(asker, 3)
    waiters = [gathering.part(index, lambda code: code.name) for index in range(3)]
    waiters[2].answer("c")
    waiters[0].answer("a")
    assert asker.told == []
    waiters[1].refuse(ErrorCode.NOT_COORDINATOR)
    assert asker.told == [["a", "NOT_COORDINATOR", "c"]]


def test_nothing_asked_for_is_answered_at_once() -> None:
    asker = Asker()
    Gathering(asker, 0)
    assert asker.told == [[]]
