"""What clients pushed last, as series for Prometheus, within bounds.

A series is a metric of one client with the labels of its attributes, as Prometheus takes them: two
that would look alike there are one here. Sums of what came since the last push are added up. New
series beyond the bounds are dropped and counted, those that are there go on. A client's series
outlive its connection, so that a last push is seen by a scrape, and go when it was silent for long.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from broker.telemetry.otlp import Point

Labels = dict[str, str]
LONGEST_TEXT: Final = 250
"""Characters of a label's value that are kept, and of a metric's name that has any series."""
MOST_TEXT: Final = 1000
"""Characters of all labels together; those beyond are left out."""
MOST_LABELS: Final = 16
OWN_LABELS: Final = frozenset(("metric", "client_id", "client_instance_id"))
"""What a series has whatever a client calls its attributes."""
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

_Key = tuple[bool, str, tuple[tuple[str, str], ...]]
"""Whether it is a counter, the metric's name, its labels in order."""


class Series(NamedTuple):
    """One series as it is shown."""

    labels: Labels
    value: float


class PushingClient:
    """One client's series, what they go by, and what it says of itself."""

    __slots__ = ("expires_ms", "info", "instance_id", "labels", "values")

    def __init__(self, instance_id: bytes) -> None:
        self.instance_id = instance_id
        self.labels: Labels = {}
        self.info: Labels = {}
        self.values: dict[_Key, float] = {}
        self.expires_ms = 0


class ClientSeries:
    """The series of all clients, by instance id."""

    def __init__(self, most_of_one: Callable[[], int], most: Callable[[], int]) -> None:
        self._most_of_one = most_of_one
        self._most = most
        self._clients: dict[bytes, PushingClient] = {}
        self.count = 0
        self.dropped = 0
        """Points that were not shown: no room for their series, or no series could hold them."""

    @property
    def most_of_one(self) -> int:
        """How many series one client may have."""
        return self._most_of_one()

    def client(self, instance_id: bytes) -> PushingClient:
        """The client of that id; one that has no series is not remembered."""
        return self._clients.get(instance_id) or PushingClient(instance_id)

    def take(self, client: PushingClient, point: "Point") -> None:
        """Show one point that the client pushed."""
        value = point.value
        if len(point.name) > LONGEST_TEXT or len(point.attributes) > MOST_LABELS:
            self.dropped += 1
            return
        if point.is_counter and not (value >= 0 and math.isfinite(value)):
            self.dropped += 1
            return
        labels = labels_of(dict(point.attributes), OWN_LABELS)
        key = (point.is_counter, point.name, tuple(sorted(labels.items())))
        before = client.values.get(key)
        if before is None:
            if len(client.values) >= self._most_of_one() or self.count >= self._most():
                self.dropped += 1
                return
            self._clients[client.instance_id] = client
            self.count += 1
        elif point.is_delta:
            value += before
        client.values[key] = value

    def expire(self, now_ms: int) -> None:
        """Forget the clients that were silent for too long."""
        silent = [key for key, client in self._clients.items() if client.expires_ms <= now_ms]
        for instance_id in silent:
            self.count -= len(self._clients.pop(instance_id).values)

    def infos(self) -> list[Labels]:
        """Every client by what it says of itself."""
        return [client.info for client in self._clients.values()]

    def shown(self, *, counters: bool) -> Iterator[Series]:
        """Every counter, or everything else; clients that come or go meanwhile may be left out."""
        for client in list(self._clients.values()):
            for (is_counter, name, labels), value in list(client.values.items()):
                if is_counter == counters:
                    yield Series({**client.labels, "metric": name, **dict(labels)}, value)


def labels_of(attributes: Mapping[str, str], taken: frozenset[str]) -> Labels:
    """Attributes as labels: names of letters, digits and `_`, values that are not endless."""
    labels: Labels = {}
    room = MOST_TEXT
    for name, value in attributes.items():
        label = "".join(one if one in _WORD else "_" for one in name[:LONGEST_TEXT]).lstrip("_")
        label = f"_{label}" if label[:1].isdecimal() else label
        value = value[:LONGEST_TEXT]
        room -= len(label) + len(value)
        if room < 0 or len(labels) == MOST_LABELS:
            break
        if label and label not in taken:
            labels[label] = value
    return labels
