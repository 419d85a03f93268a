from broker.coordinator.shard import CoordinatorRecord, Outcome
from tests.support.tally_shard import Asker


def test_an_outcome_keeps_what_it_was_given_and_shares_nothing() -> None:
    records = [CoordinatorRecord(b"k", None)]
    asker = Asker()
    outcome = Outcome(records, [(asker, 1)])
    records.clear()
    assert outcome.records == [CoordinatorRecord(b"k", None)]
    assert outcome.answers == [(asker, 1)]
    outcome.timers["a"] = 1
    assert Outcome().timers == {}
