"""What a handler is told about its request, and the ways in which it may answer.

    Response        the answer, encoded and sent before the next request is looked at
    Parked          the answer comes later, from whoever holds the parked reply
    an awaitable    the answer comes when it is done; for work that waits for a store or a worker
    NO_RESPONSE     the client expects none (acks=0) and the connection goes on
    CLOSE_CONNECTION  the client expects none and must learn that something failed

A connection handles one request at a time, so none of these lets answers overtake one another.
"""

import enum
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from protocol.headers import RequestHeader
    from protocol.schema.message import Response

ANONYMOUS = "User:ANONYMOUS"


class Verdict(enum.Enum):
    """Answers that send nothing."""

    NO_RESPONSE = "no response"
    CLOSE_CONNECTION = "close connection"


NO_RESPONSE = Verdict.NO_RESPONSE
CLOSE_CONNECTION = Verdict.CLOSE_CONNECTION


class Peer:
    """The other end of one connection: what stays the same from request to request."""

    __slots__ = (
        "_watchers",
        "client_host",
        "client_port",
        "client_software_name",
        "client_software_version",
        "connection_id",
        "listener_name",
        "principal",
    )

    def __init__(
        self, listener_name: str, client_host: str, connection_id: str, client_port: int = 0
    ) -> None:
        self.listener_name = listener_name
        self.client_host = client_host
        self.client_port = client_port
        self.connection_id = connection_id
        self.principal = ANONYMOUS
        self.client_software_name = "unknown"
        self.client_software_version = "unknown"
        self._watchers: tuple[Callable[[], None], ...] = ()

    def when_gone(self, watcher: Callable[[], None]) -> None:
        """Have `watcher` called once the connection is closed."""
        self._watchers = (*self._watchers, watcher)

    def gone(self) -> None:
        """The connection is closed: tell whom that concerns."""
        watchers, self._watchers = self._watchers, ()
        for watcher in watchers:
            watcher()


class RequestContext:
    """One request: its header, who sent it and when it arrived (monotonic seconds)."""

    __slots__ = ("header", "peer", "received_at")

    def __init__(self, header: "RequestHeader", peer: Peer, received_at: float) -> None:
        self.header = header
        self.peer = peer
        self.received_at = received_at

    @property
    def api_version(self) -> int:
        """The version the request was written in and the answer will be."""
        return self.header.api_version

    @property
    def client_id(self) -> str | None:
        """What the client calls itself."""
        return self.header.client_id

    @property
    def listener_name(self) -> str:
        """The listener the client came in by: answers give addresses of the same one."""
        return self.peer.listener_name

    @property
    def client_host(self) -> str:
        """The client's address as text."""
        return self.peer.client_host

    @property
    def connection_id(self) -> str:
        """Unique among the connections of this process."""
        return self.peer.connection_id

    @property
    def principal(self) -> str:
        """Who the client is, as Kafka writes it."""
        return self.peer.principal


class Parked:
    """A reply that comes later.

    The holder calls `complete` or `fail` exactly once, even after the connection was lost: the
    answer is then taken and thrown away, so that what it holds is released in one place. It may
    do so before the handler has returned. `on_abandon` tells the holder that nobody waits any
    more; the holder may then complete at once or forget the reply altogether.
    """

    __slots__ = ("_on_complete", "_result", "abandoned", "on_abandon")

    def __init__(self, on_abandon: Callable[[], None] | None = None) -> None:
        self.on_abandon = on_abandon
        self.abandoned = False
        self._on_complete: Callable[[Reply | Exception], None] | None = None
        self._result: Reply | Exception | None = None

    @property
    def result(self) -> "Reply | Exception | None":
        """The reply, once it was given."""
        return self._result

    def complete(self, response: "Reply | None") -> None:
        """Answer now; None answers nothing, as NO_RESPONSE does."""
        self._settle(NO_RESPONSE if response is None else response)

    def fail(self, error: Exception) -> None:
        """Answer as if the handler had raised `error`."""
        self._settle(error)

    def attach(self, on_complete: "Callable[[Reply | Exception], None]") -> None:
        """Have the reply told to `on_complete`, at once when it is there already."""
        assert self._on_complete is None, "a parked reply has one receiver"
        self._on_complete = on_complete
        if self._result is not None:
            on_complete(self._result)

    def abandon(self) -> None:
        """The connection is gone: tell the holder, once, unless the reply was given."""
        if self.abandoned or self._result is not None:
            return
        self.abandoned = True
        if self.on_abandon is not None:
            self.on_abandon()

    def _settle(self, result: "Reply | Exception") -> None:
        assert self._result is None, "a parked reply is completed once"
        self._result = result
        if self._on_complete is not None:
            self._on_complete(result)


Reply: TypeAlias = Union["Response", Verdict]
HandlerResult: TypeAlias = Union["Response", Verdict, Parked, Awaitable[Reply]]
