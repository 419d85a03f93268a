"""The clients that push metrics: what each is asked for, and when it may speak again.

    Get    every interval, or at once when subscriptions have changed or the last push was refused
           for its subscription or its codec
    Push   at once after a Get, then every interval; the last one at any time, nothing after it

The state of a client lives here while its connection does, three intervals at most. A client that
another broker knew is met with its first request. Who comes when there are 16384 takes the place of
whom nobody heard of for longest. Times are of a clock that never goes back.
Source: KIP-714; `ClientMetricsManager`, `ClientMetricsInstance` of Kafka 4.3.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from broker.context import RequestContext
from broker.telemetry.series import ClientSeries, Labels, labels_of
from broker.telemetry.subscriptions import Asked, Attributes, Subscription, asked_of
from cluster.metadata_cache import EntityConfigs
from config.definition import ConfigError
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.push_telemetry import PushTelemetryRequest
from protocol.model import METADATA_TOPIC_ID, ZERO_TOPIC_ID, topic_id_to_text
from protocol.records.compression import Codec

_log = logging.getLogger(__name__)

MOST_CLIENTS: Final = 16384
SHORTEST_LIFE_MS: Final = 60_000
LIFE_INTERVALS: Final = 3
LONGEST_ATTRIBUTE: Final = 1000
"""Longer ones are matched by nothing: a pattern's work grows with the text."""
NO_CLIENT: Final = (ZERO_TOPIC_ID, METADATA_TOPIC_ID)
"""Ids that no client has."""
_NEVER: Final = -(1 << 60)


class Meters:
    """Plain counters, for the metrics."""

    __slots__ = ("exported", "failed", "throttled", "unknown_subscriptions")

    def __init__(self) -> None:
        self.exported = 0
        self.failed = 0
        self.throttled = 0
        self.unknown_subscriptions = 0


class Client:
    """One client instance."""

    __slots__ = (
        "asked",
        "attributes",
        "connection_id",
        "expires_ms",
        "instance_id",
        "last_error",
        "last_get_ms",
        "last_push_ms",
        "terminated",
        "version",
    )

    def __init__(
        self, instance_id: bytes, attributes: Attributes, asked: Asked, version: int
    ) -> None:
        self.instance_id = instance_id
        self.attributes = attributes
        self.asked = asked
        self.version = version
        self.last_get_ms = self.last_push_ms = _NEVER
        self.terminated = False
        self.last_error = ErrorCode.NONE
        self.expires_ms = 0
        self.connection_id = ""

    @property
    def life_ms(self) -> int:
        """How long it may be silent before it is forgotten."""
        return max(SHORTEST_LIFE_MS, LIFE_INTERVALS * self.asked.interval_ms)

    @property
    def labels(self) -> Labels:
        """What its series go by."""
        own = {"client_instance_id": topic_id_to_text(self.instance_id)}
        return {**own, "client_id": self.attributes.get("client_id", "")}

    def info(self, resource: Mapping[str, str]) -> Labels:
        """What is known of it, and what it says of itself where that is something else."""
        known = labels_of(self.attributes, frozenset())
        return {**labels_of(resource, frozenset(known)), **known, **self.labels}

    def may_get(self, now_ms: int) -> bool:
        """Whether the interval is over; it begins anew then."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < self.asked.interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """Whether a push may come now; the interval begins anew then."""
        is_first = self.last_get_ms > self.last_push_ms
        if not is_first and now_ms - self.last_push_ms < self.asked.interval_ms:
            return False
        self.last_push_ms = now_ms
        return True


class ClientTelemetry:
    """All clients of this broker. `max_bytes` is the largest push, `new_id` draws unused ids."""

    def __init__(
        self,
        configs: EntityConfigs,
        series: ClientSeries,
        max_bytes: Callable[[], int],
        new_id: Callable[[], bytes],
    ) -> None:
        self._configs = configs
        self.series = series
        self.max_bytes = max_bytes
        self._new_id = new_id
        self._clients: dict[bytes, Client] = {}
        self._of_connection: dict[str, bytes] = {}
        self._subscriptions: list[Subscription] = []
        self._parsed_version = -1
        self.meters = Meters()

    def __len__(self) -> int:
        return len(self._clients)

    def subscribe(self, instance_id: bytes, context: RequestContext, now_ms: int) -> Client:
        """The client that asks what to push, named if it has no name yet.

        THROTTLING_QUOTA_EXCEEDED before its time.
        """
        client = self._client(instance_id if any(instance_id) else self._new_id(), context, now_ms)
        retries = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if not client.may_get(now_ms) and client.last_error not in retries:
            self.meters.throttled += 1
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        client.last_error = ErrorCode.NONE
        return client

    def admit(self, request: PushTelemetryRequest, context: RequestContext, now_ms: int) -> Client:
        """The client whose push may be read; KafkaError for one that may not."""
        if request.client_instance_id in NO_CLIENT:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        client = self._client(request.client_instance_id, context, now_ms)
        try:
            self._check(client, request, now_ms)
        except KafkaError as error:
            client.last_error = error.code
            raise
        finally:
            client.terminated = client.terminated or request.terminating
        client.last_error = ErrorCode.NONE
        return client

    def disconnected(self, connection_id: str) -> None:
        """The connection is gone, and the client that spoke on it."""
        instance_id = self._of_connection.pop(connection_id, b"")
        client = self._clients.get(instance_id)
        if client is not None and client.connection_id == connection_id:
            del self._clients[instance_id]

    def expire(self, now_ms: int) -> None:
        """Forget who was silent for too long."""
        silent = [key for key, client in self._clients.items() if client.expires_ms <= now_ms]
        for instance_id in silent:
            del self._clients[instance_id]
        self.series.expire(now_ms)

    def _check(self, client: Client, request: PushTelemetryRequest, now_ms: int) -> None:
        if client.terminated:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not client.may_push(now_ms) and not request.terminating:
            self.meters.throttled += 1
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if request.subscription_id != client.asked.subscription_id:
            self.meters.unknown_subscriptions += 1
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if request.compression_type not in set(Codec):
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(request.metrics) > self.max_bytes():
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)

    def _client(self, instance_id: bytes, context: RequestContext, now_ms: int) -> Client:
        """The client of that id as subscriptions are now, met anew if they have changed."""
        version = self._configs.version
        client = self._clients.pop(instance_id, None)
        if client is None or client.version != version:
            attributes = _attributes(instance_id, context) if client is None else client.attributes
            asked = asked_of(instance_id, attributes, self._parsed())
            client = Client(instance_id, attributes, asked, version)
        if client.connection_id != context.connection_id:
            self._connect(client, context)
        client.expires_ms = now_ms + client.life_ms
        self._clients[instance_id] = client
        if len(self._clients) > MOST_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return client

    def _connect(self, client: Client, context: RequestContext) -> None:
        """The client goes when the connection does that it spoke on last."""
        client.connection_id = connection_id = context.connection_id
        if connection_id not in self._of_connection:
            context.peer.when_gone(lambda: self.disconnected(connection_id))
        self._of_connection[connection_id] = client.instance_id

    def _parsed(self) -> list[Subscription]:
        if self._parsed_version != self._configs.version:
            self._subscriptions = []
            for name in self._configs.names():
                try:
                    self._subscriptions.append(Subscription(self._configs.of(name)))
                except (ConfigError, ValueError) as error:
                    _log.error("Subscription %s to client metrics is left out: %s", name, error)
            self._parsed_version = self._configs.version
        return self._subscriptions


def _attributes(instance_id: bytes, context: RequestContext) -> Attributes:
    peer = context.peer
    found = {
        "client_instance_id": topic_id_to_text(instance_id),
        "client_software_name": peer.client_software_name,
        "client_software_version": peer.client_software_version,
        "client_source_address": peer.client_host,
        "client_source_port": str(peer.client_port),
    }
    if context.client_id is not None:
        found["client_id"] = context.client_id
    return {name: value for name, value in found.items() if len(value) <= LONGEST_ATTRIBUTE}
