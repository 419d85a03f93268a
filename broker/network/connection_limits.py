"""How many connections there may be, in all and from one address.

At the limit in all, accepting pauses until one closes, and waiting clients stay in the kernel's
backlog; an address over its own limit is closed at once.
Source: Kafka's `ConnectionQuotas` (`max.connections`, `max.connections.per.ip`, `…overrides`).
"""

from collections.abc import Callable, Mapping


class ConnectionLimits:
    """Counts the open connections of all listeners."""

    __slots__ = ("_by_host", "_max_in_all", "_max_per_host", "_overrides", "open", "refused")

    def __init__(
        self,
        max_in_all: Callable[[], int],
        max_per_host: Callable[[], int],
        overrides: Callable[[], Mapping[str, int]],
    ) -> None:
        self._max_in_all = max_in_all
        self._max_per_host = max_per_host
        self._overrides = overrides
        self._by_host: dict[str, int] = {}
        self.open = 0
        self.refused = 0
        """Connections closed because their address had too many."""

    @property
    def full(self) -> bool:
        """No connection may be accepted before one closes."""
        return self.open >= self._max_in_all()

    def admit(self, host: str) -> bool:
        """Count a connection of this address in, or refuse it."""
        count = self._by_host.get(host, 0)
        limit = self._overrides().get(host)
        if count >= (self._max_per_host() if limit is None else limit):
            self.refused += 1
            return False
        self._by_host[host] = count + 1
        self.open += 1
        return True

    def release(self, host: str) -> None:
        """An admitted connection is closed."""
        self.open -= 1
        count = self._by_host[host] - 1
        if count:
            self._by_host[host] = count
        else:
            del self._by_host[host]


def plain_host(address: str) -> str:
    """An address as limits and logs name it: IPv4 in IPv6 clothes becomes IPv4."""
    mapped = address.removeprefix("::ffff:")
    return mapped if "." in mapped else address
