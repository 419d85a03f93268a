"""Clients that push metrics: OpenTelemetry's protobuf written by hand, and a broker's end of it.

metrics(gauge("a", 1.5, {"topic": "t"}), total("b", 3, is_delta=True))     what a client pushes
"""

import struct

from broker.context import Peer, RequestContext
from broker.telemetry.clients import ClientTelemetry
from broker.telemetry.series import ClientSeries, Series
from cluster.metadata_cache import EntityConfigs
from protocol.headers import RequestHeader
from protocol.messages.push_telemetry import PushTelemetryRequest

ID = bytes(range(16))


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | int | float | str) -> bytes:
    """A field of the kind its value is: bytes of any message, varint, fixed64 double."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed(number: int, value: int, code: str = "<q") -> bytes:
    return varint(number << 3 | 1) + struct.pack(code, value)


def attribute(key: str, value: bytes | str) -> bytes:
    """A KeyValue; bytes are an AnyValue as it is."""
    return field(1, key) + field(2, field(1, value) if isinstance(value, str) else value)


def attributes(number: int, pairs: dict[str, str]) -> bytes:
    return b"".join(field(number, attribute(key, value)) for key, value in pairs.items())


def gauge(name: str, value: float, labels: dict[str, str] | None = None) -> bytes:
    return field(1, name) + field(5, field(1, field(4, float(value)) + attributes(7, labels or {})))


def total(
    name: str,
    value: int,
    is_delta: bool,
    grows: bool = True,
    labels: dict[str, str] | None = None,
) -> bytes:
    """A Sum, its kind told behind its point as Java writes it."""
    point = field(1, fixed(6, value) + attributes(7, labels or {}))
    return field(1, name) + field(7, point + field(2, 1 if is_delta else 2) + field(3, int(grows)))


def metrics(*some: bytes, resource: dict[str, str] | None = None) -> bytes:
    """All metrics of one push, behind what the client says of itself."""
    scope = field(1, b"") + b"".join(field(2, metric) for metric in some)
    described = field(1, attributes(1, resource or {}))
    return field(1, described + field(2, scope))


class Telemetry:
    """What the broker knows of its clients' metrics, and the requests that tell it."""

    def __init__(self, most_of_one: int = 500, most: int = 10_000, max_bytes: int = 1000) -> None:
        self.configs = EntityConfigs()
        self.drawn = 0
        self.series = ClientSeries(lambda: most_of_one, lambda: most)
        self.clients = ClientTelemetry(self.configs, self.series, lambda: max_bytes, self._new_id)

    def _new_id(self) -> bytes:
        self.drawn += 1
        return b"drawn" + bytes(10) + bytes([self.drawn])

    def shown(self, *, counters: bool) -> list[Series]:
        return list(self.series.shown(counters=counters))


def context(client_id: str | None = "app-1", connection: str = "c1") -> RequestContext:
    """A request on a connection of its own."""
    peer = Peer("PLAINTEXT", "10.0.0.7", connection, 40000)
    peer.client_software_name, peer.client_software_version = "librdkafka", "2.0"
    return RequestContext(RequestHeader(71, 0, 1, client_id, 0), peer, 0.0)


def push(
    subscription_id: int,
    data: bytes = b"",
    *,
    instance_id: bytes = ID,
    terminating: bool = False,
    codec: int = 0,
) -> PushTelemetryRequest:
    return PushTelemetryRequest(
        client_instance_id=instance_id,
        subscription_id=subscription_id,
        terminating=terminating,
        compression_type=codec,
        metrics=data,
    )
