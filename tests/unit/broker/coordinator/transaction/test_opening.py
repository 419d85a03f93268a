import pytest

from broker.coordinator.transaction.metadata import EXHAUSTED_EPOCH, LAST_EPOCH, Transaction
from broker.coordinator.transaction.opening import Claim, Opening, check_claim, opening_of
from protocol.errors import ErrorCode, KafkaError

BEFORE = Transaction("id", 7, 5, 1000, previous_producer_id=6)


def claim(producer_id: int = -1, epoch: int = -1) -> Claim:
    return Claim("id", producer_id, epoch)


@pytest.mark.parametrize(
    ("epoch", "last", "claimed", "opening"),
    [
        (5, -1, claim(), Opening(False, 6, -1)),
        (5, -1, claim(7, 5), Opening(False, 6, 5)),
        (5, 4, claim(7, 4), Opening(False, 5, 4)),
        (-1, -1, claim(), Opening(False, 0, -1)),
        (-1, -1, claim(3, 9), Opening(False, 0, -1)),
        (EXHAUSTED_EPOCH, -1, claim(), Opening(True, 0, -1)),
        (LAST_EPOCH, -1, claim(), Opening(True, 0, -1)),
        (EXHAUSTED_EPOCH, -1, claim(7, EXHAUSTED_EPOCH), Opening(True, 0, EXHAUSTED_EPOCH)),
        (0, EXHAUSTED_EPOCH, claim(6, EXHAUSTED_EPOCH), Opening(False, 0, EXHAUSTED_EPOCH)),
    ],
)
def test_what_a_producer_gets(epoch: int, last: int, claimed: Claim, opening: Opening) -> None:
    before = BEFORE._replace(producer_epoch=epoch)
    check_claim(before, claimed)
    assert opening_of(before, last, claimed) == opening


@pytest.mark.parametrize("epoch", [3, 6])
def test_another_epoch_is_somebody_elses(epoch: int) -> None:
    with pytest.raises(KafkaError) as caught:
        opening_of(BEFORE, 4, claim(7, epoch))
    assert caught.value.code is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("claimed", [claim(8, 5), claim(6, 5)])
def test_another_producer_id_is_somebody_elses(claimed: Claim) -> None:
    with pytest.raises(KafkaError) as caught:
        check_claim(BEFORE, claimed)
    assert caught.value.code is ErrorCode.PRODUCER_FENCED
