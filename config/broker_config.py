"""The settings of this broker as they stand: read by key, live, with where each value came from.

A value is looked for in this order: set for this broker while it runs, set as the default of all
brokers while they run, written in its file (or environment, or flags), default of the declaration.
All values are kept parsed; reading one is one dictionary look-up.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from config.catalogue import DEFAULTS, KEYS, LISTENER_PREFIX, find_key
from config.definition import READ_ONLY, ConfigError, Key, Live
from config.keys import log, network, node, observability
from config.listeners import Endpoint, parse_address, parse_counts, parse_endpoints, parse_map

T = TypeVar("T")
D = TypeVar("D")


class BrokerConfig:
    """Static and dynamic settings of one broker, merged.

    `static`, `per_broker` and `cluster_default` hold the texts as they were written, unknown names
    included. Only the loop thread changes it.
    """

    def __init__(
        self,
        static: Mapping[str, str] | None = None,
        *,
        sources: Mapping[str, str] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Parse `static`; raises ConfigError naming the place in `sources`."""
        self.static = dict(static or {})
        self.per_broker: dict[str, str] = {}
        self.cluster_default: dict[str, str] = {}
        self.sources = dict(sources or {})
        self.warnings = warnings
        self._listeners: list[Callable[[frozenset[str]], None]] = []
        self._derived: dict[str, Any] = {}
        _fill_node_id(self.static, self.sources)
        self._base = {**DEFAULTS, **self._parse_static()}
        self._values = self._base

    def __getitem__(self, key: Key[T]) -> T:
        return self._values[key.name]  # type: ignore[no-any-return]  # parsed by this very key

    def value(self, name: str) -> Any:
        """The effective value of the setting called `name`. Raises KeyError if there is none."""
        return self._values[name]

    def live(self, key: Key[T]) -> Live[T]:
        """A function that answers the value of `key` at the time it is called."""
        return lambda: self._values[key.name]

    def on_change(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Have `listener` called, after each change, with the names whose values changed."""
        self._listeners.append(listener)

    def set_dynamic(
        self, per_broker: Mapping[str, str], cluster_default: Mapping[str, str]
    ) -> list[ConfigError]:
        """Replace what is set while the broker runs, and tell the listeners.

        A stored value that no longer parses is left out and answered, the others hold.
        """
        errors: list[ConfigError] = []
        self.per_broker = dict(per_broker)
        self.cluster_default = dict(cluster_default)
        values = dict(self._base)
        for layer in (cluster_default, per_broker):
            for name, text in layer.items():
                key = KEYS.get(name)
                if key is None or key.dynamic == READ_ONLY:
                    continue
                try:
                    values[name] = key.parse(text)
                except ConfigError as error:
                    errors.append(error)
        changed = frozenset(name for name, value in values.items() if self._values[name] != value)
        self._values = values
        self._derived = {}
        for listener in self._listeners if changed else ():
            listener(changed)
        return errors

    def with_dynamic(
        self, per_broker: Mapping[str, str], cluster_default: Mapping[str, str]
    ) -> "BrokerConfig":
        """A copy that nobody listens to, with other dynamic values: to see whether they hold."""
        copy = BrokerConfig(self.static, sources=self.sources)
        copy.set_dynamic(per_broker, cluster_default)
        return copy

    def derive(self, name: str, compute: Callable[[], D]) -> D:
        """What `compute` answers from these settings, remembered until one of them changes."""
        if name not in self._derived:
            self._derived[name] = compute()
        return self._derived[name]  # type: ignore[no-any-return]  # stored by this very name

    def assign_node_id(self, number: int) -> None:
        """Number a broker whose settings leave that to its `meta.properties`."""
        for layer in (self._base, self._values):
            layer[node.NODE_ID.name] = layer[node.BROKER_ID.name] = number

    @property
    def node_id(self) -> int | None:
        """The number of this broker; None if its directories must tell."""
        return self[node.NODE_ID]

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The log directories, the one with the metadata first."""
        directories = self[log.LOG_DIRS]
        return directories if directories is not None else self[log.LOG_DIR]

    @property
    def listeners(self) -> tuple[Endpoint, ...]:
        """Where clients and brokers are listened for; a quorum's listeners are left out."""
        return self._endpoints(network.LISTENERS.name, self[network.LISTENERS])

    @property
    def advertised_listeners(self) -> tuple[Endpoint, ...]:
        """What clients are told; as `listeners` when nothing else is said.

        An empty host stands for this machine's own name, port 0 for the port really bound.
        """
        texts = self[network.ADVERTISED_LISTENERS]
        if not texts:
            return self.listeners
        return self._endpoints(network.ADVERTISED_LISTENERS.name, texts)

    @property
    def protocols(self) -> dict[str, str]:
        """The security protocol by listener name, in capitals."""
        key = network.LISTENER_SECURITY_PROTOCOL_MAP
        pairs = parse_map(key.name, self[key])
        return {name.upper(): protocol.upper() for name, protocol in pairs.items()}

    @property
    def inter_broker_listener_name(self) -> str:
        """The listener brokers use among themselves."""
        name = self[network.INTER_BROKER_LISTENER_NAME]
        return name.upper() if name else self[network.SECURITY_INTER_BROKER_PROTOCOL]

    @property
    def controller_listener_names(self) -> frozenset[str]:
        """The listeners of a quorum, none of which is opened here."""
        return frozenset(name.upper() for name in self[node.CONTROLLER_LISTENER_NAMES] or ())

    @property
    def connections_by_address(self) -> dict[str, int]:
        """The most connections from each address that has a limit of its own."""
        key = network.MAX_CONNECTIONS_PER_IP_OVERRIDES
        return parse_counts(key.name, self[key])

    @property
    def request_memory_bytes(self) -> int:
        """The most bytes that requests in flight may hold together."""
        asked = self[network.QUEUED_MAX_REQUEST_BYTES]
        return asked if asked > 0 else 2 * self[network.SOCKET_REQUEST_MAX_BYTES]

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of the metrics; None if they are off."""
        key = observability.METRICS_LISTENER
        text = self[key]
        return None if text.strip().lower() == "off" else parse_address(key.name, text)

    def _endpoints(self, key: str, texts: tuple[str, ...]) -> tuple[Endpoint, ...]:
        left_out = self.controller_listener_names
        return tuple(e for e in parse_endpoints(key, texts) if e.name not in left_out)

    def _parse_static(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, text in self.static.items():
            key = find_key(name)
            if key is None:
                continue
            try:
                value = key.parse(text)
            except ConfigError as error:
                error.source = self.sources.get(name)
                raise
            if not name.startswith(LISTENER_PREFIX):
                values[name] = value
        return values


def _fill_node_id(static: dict[str, str], sources: dict[str, str]) -> None:
    """Make `node.id` and `broker.id` say the same, as Kafka does. Raises ConfigError."""
    old, new = node.BROKER_ID.name, node.NODE_ID.name
    older = static.get(old, "-1").strip()
    if new in static:
        if older not in ("-1", static[new].strip()):
            raise ConfigError(
                old,
                older,
                f"You must set `{new}` to the same value as `{old}`.",
                source=sources.get(old),
            )
        static[old] = static[new]
    elif older != "-1":
        static[new] = older
    for name in (new, old):
        if name in static and name not in sources:
            sources[name] = sources.get(old if name == new else new, "")
