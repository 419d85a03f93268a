"""Asked the same, Tidelog answers what Kafka answers, field by field; `allowed.py` has the rest."""

import pytest

from tests.kafka_tools.allowed import ALLOWED, reason_for
from tests.kafka_tools.conftest import Closed
from tests.kafka_tools.conversation.whole import STEPS
from tests.kafka_tools.plain import differences


@pytest.mark.timeout(240)
def test_nothing_differs_that_may_not(closed: Closed) -> None:
    found = [
        f"{step}{difference}"
        for step, outcome in closed.outcomes.items()
        for difference in outcome.unexpected(step)
    ]
    assert len(closed.outcomes) == len(STEPS)
    assert found == []


@pytest.mark.timeout(240)
def test_every_allowance_is_still_needed(closed: Closed) -> None:
    reasons = {
        reason_for(step, difference)
        for step, outcome in closed.outcomes.items()
        for difference in differences(outcome.ours, outcome.theirs)
    }
    assert [allowed.step for allowed in ALLOWED if allowed.why not in reasons] == []
