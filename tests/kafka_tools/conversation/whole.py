"""The whole conversation, in its order, and what the brokers said."""

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from protocol.schema.message import Response
from tests.kafka_tools.allowed import reason_for
from tests.kafka_tools.conversation import (
    administration,
    cluster,
    produce,
    reading,
    settings,
    topics,
)
from tests.kafka_tools.plain import Difference, differences, plain
from tests.kafka_tools.side import Side, Step, take

AGREEMENT_SECONDS = 1.0

STEPS: list[Step] = [
    *topics.creations(),
    *produce.appends(),
    *produce.topic_rules(),
    *produce.producers(),
    *reading.filling(),
    *reading.fetches(),
    *reading.sessions(),
    *reading.offsets(),
    *reading.record_deletions(),
    *settings.descriptions(),
    *settings.replacements(),
    *settings.topic_changes(),
    *settings.broker_changes(),
    *administration.administration(),
    *topics.growths(),
    *topics.descriptions(),
    *topics.deletions(),
    *cluster.about_itself(),
    *cluster.versions(),
    *cluster.refusals(),
]


class Outcome(NamedTuple):
    """What both brokers answered to one step, in plain values."""

    ours: Any
    theirs: Any

    def unexpected(self, step: str) -> list[Difference]:
        """Where the answers differ and may not."""
        return [
            difference
            for difference in differences(self.ours, self.theirs)
            if reason_for(step, difference) is None
        ]


def _ask(step: Step, ours: Side, theirs: Side) -> Outcome:
    answers = [take(step, side) for side in (ours, theirs)]
    values = [
        plain(answer, side) if isinstance(answer, Response) else answer
        for answer, side in zip(answers, (ours, theirs), strict=True)
    ]
    return Outcome(*values)


def talk(steps: Iterable[Step], ours: Side, theirs: Side) -> dict[str, Outcome]:
    """Every step said to both brokers, one after the other."""
    outcomes: dict[str, Outcome] = {}
    for step in steps:
        name = step.name if step.name not in outcomes else f"{step.name}-v{step.version}"
        assert name not in outcomes, f"{name} is said twice"
        outcome = _ask(step, ours, theirs)
        deadline = time.monotonic() + AGREEMENT_SECONDS
        while step.reads and outcome.unexpected(name) and time.monotonic() < deadline:
            time.sleep(0.02)
            outcome = _ask(step, ours, theirs)
        outcomes[name] = outcome
    return outcomes
