"""Which topics the regular expressions of consumer groups stand for, found out bit by bit.

All expressions of a group are matched together, at most every ten seconds, whatever its members do:

```text
heartbeat   some expression is not resolved, topics were created, or the last time is long ago
timer 0     NAMES_A_STEP names against one expression, again and again: the loop is never kept long
at the end  a record for each expression, and an epoch where one stands for other topics than before
```
What is half found out is lost with the process, and begun again by the next heartbeat. What reads
expressions is imported when the first comes.
Source: GroupMetadataManager.maybeUpdateRegularExpressions, handleRegularExpressionsResult (4.3).
"""

import logging
from collections.abc import Iterator
from typing import Final

from broker.coordinator.group.consumer_group import ConsumerGroup, ResolvedRegex
from broker.coordinator.group.consumer_presence import CONSUMER_REGEX
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.turn import TimerKey, Turn
from protocol.errors import ErrorCode, KafkaError

_logger = logging.getLogger(__name__)

NAMES_A_STEP: Final = 500
"""Some 2 ms of matching."""
SHORTEST_PAUSE_MS: Final = 10_000
LONGEST_PAUSE_MS: Final = 600_000


def check_regex(group: ConsumerGroup, old: str, new: str) -> None:
    """Whether a text new to the group is an expression at all; INVALID_REGULAR_EXPRESSION."""
    if not new or new == old or new in group.regex_subscribers:
        return
    from broker.coordinator.group.regex_subscriptions import TopicPattern
    from broker.coordinator.group.regex_syntax import InvalidPattern

    try:
        TopicPattern(new)
    except InvalidPattern as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{new}` is not a valid regular expression: {error}.",
        ) from None


class Resolutions:
    """Those under way, by group; see the module."""

    def __init__(self, topics: GroupTopics) -> None:
        self._topics = topics
        self._running: dict[str, _Resolution] = {}
        self._last_version: dict[str, int] = {}

    def consider(self, group: ConsumerGroup, new: str, turn: Turn) -> None:
        """Begin, where it is time to; `new` is the expression this heartbeat brings, or ""."""
        if not (new or group.regex_subscribers) or group.group_id in self._running:
            return
        regexes = {*group.regex_subscribers, *([new] if new else ())}
        if not self._is_due(group, regexes, turn.now_ms):
            return
        self._running[group.group_id] = _Resolution(
            sorted(regexes), self._topics, self._topics.version, turn.now_ms
        )
        turn.arm(TimerKey(CONSUMER_REGEX, group.group_id), 0)

    def _is_due(self, group: ConsumerGroup, regexes: set[str], now_ms: int) -> bool:
        last_ms = max((one.resolved_ms for one in group.regexes.values()), default=None)
        if last_ms is None:
            return True
        if 0 <= now_ms - last_ms <= SHORTEST_PAUSE_MS:
            return False
        last_version = self._last_version.get(group.group_id, -1)
        return (
            not regexes <= group.regexes.keys()
            or self._topics.last_creation > last_version
            or now_ms - last_ms >= LONGEST_PAUSE_MS
        )

    def proceed(self, group: ConsumerGroup, turn: Turn) -> dict[str, ResolvedRegex] | None:
        """At the timer: match some more; what was found, once that is all."""
        running = self._running.get(group.group_id)
        if running is None:
            return None
        if next(running.steps, running) is not running:
            turn.arm(TimerKey(CONSUMER_REGEX, group.group_id), 0)
            return None
        del self._running[group.group_id]
        self._last_version[group.group_id] = running.version
        return running.found

    def stop(self, group_id: str) -> None:
        """What goes on for a group is of no use any more."""
        self._running.pop(group_id, None)

    def forget(self, group_id: str) -> None:
        """The group is no more."""
        self.stop(group_id)
        self._last_version.pop(group_id, None)


class _Resolution:
    """The expressions of one group on their way through all topics there are."""

    __slots__ = ("_names", "_started_ms", "found", "steps", "version")

    def __init__(
        self, regexes: list[str], topics: GroupTopics, version: int, started_ms: int
    ) -> None:
        self.version = version
        self.found: dict[str, ResolvedRegex] = {}
        self._started_ms = started_ms
        self._names = list(topics.names())
        self.steps = self._run(regexes)

    def _run(self, regexes: list[str]) -> Iterator[None]:
        from broker.coordinator.group.regex_subscriptions import TopicPattern
        from broker.coordinator.group.regex_syntax import InvalidPattern

        for regex in regexes:
            matching: set[str] = set()
            try:
                pattern = TopicPattern(regex)
            except InvalidPattern as error:
                # Another broker took it: its members wait for nothing rather than for an error.
                _logger.error("The expression %r is not understood: %s", regex, error)
            else:
                for start in range(0, len(self._names), NAMES_A_STEP):
                    matching.update(pattern.among(self._names[start : start + NAMES_A_STEP]))
                    yield
            self.found[regex] = ResolvedRegex(frozenset(matching), self.version, self._started_ms)
