"""Request contexts for calling handlers without a connection."""

from broker.context import Peer, RequestContext
from protocol.headers import RequestHeader


def context(api_version: int, listener: str = "PLAINTEXT") -> RequestContext:
    """The context of a request in that version on that listener."""
    header = RequestHeader(0, api_version, 1, "test", 0)
    return RequestContext(header, Peer(listener, "127.0.0.1", "c"), 0.0)
