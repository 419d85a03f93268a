"""Where a group is to go on reading: the modes of kafka-consumer-groups --reset-offsets.

```text
earliest  latest  current      the two ends, and where it is (the end, where it never was)
offset N  shift N              a number, and so many on or back
datetime T  duration D         the first record at or after a time, or since so long ago
```
Whatever comes out is kept within the two ends, as Kafka's tool does. Source:
ConsumerGroupCommand.resetOffsets (4.3).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?"
)
MILLISECONDS: Final = 1000


class Place(NamedTuple):
    """One partition as it is: its ends, the offset found for a time, and the group's own."""

    earliest: int
    latest: int
    committed: int | None = None
    at_time: int | None = None


class Reset(NamedTuple):
    """One mode; `number` is its offset, its distance or its time (ms)."""

    mode: str
    number: int = 0

    @property
    def needs_time(self) -> bool:
        """Whether the broker has to be asked for the offset at `number`."""
        return self.mode == "time"

    def target(self, place: Place) -> int:
        """The offset to commit, within the partition's ends."""
        committed = place.latest if place.committed is None else place.committed
        at_time = place.latest if place.at_time is None else place.at_time
        wanted: Mapping[str, int] = {
            "earliest": place.earliest,
            "latest": place.latest,
            "current": committed,
            "offset": self.number,
            "shift": committed + self.number,
            "time": at_time,
        }
        return min(max(wanted[self.mode], place.earliest), place.latest)


def parse_time(text: str) -> int:
    """Milliseconds of an ISO date and time, UTC where it names no zone; ValueError."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return int(when.timestamp() * MILLISECONDS)


def parse_duration(text: str) -> int:
    """Milliseconds of an ISO duration such as P1DT2H30M; ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        raise ValueError(f"'{text}' is no duration such as P1DT2H30M")
    parts = {name: int(digits) for name, digits in found.groupdict().items() if digits}
    return int(timedelta(**parts).total_seconds() * MILLISECONDS)


def parse_scope(texts: tuple[str, ...]) -> dict[str, set[int] | None]:
    """TOPIC or TOPIC:0,1 as partitions by topic, None for all of them; ValueError."""
    scope: dict[str, set[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        scope[topic] = {int(one) for one in numbers.split(",")} if colon else None
    return scope
