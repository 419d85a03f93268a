"""Listeners as values: where to listen, what to tell clients, and over which protocol.

Texts are Kafka's: `NAME://host:port,NAME://host:port`, a name mapped to a protocol by
`listener.security.protocol.map`. Rules follow `KafkaConfig.scala` and `SocketServerConfigs.java`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from config.definition import ConfigError

UNROUTABLE = ("0.0.0.0", "::")


class Endpoint(NamedTuple):
    """One place to listen or to connect to: an empty host is every interface, port 0 a free one."""

    name: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """`host:port`, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(key: str, text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[ipv6]:port`. Raises ConfigError."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(key, text, "Unable to parse it: expected host:port, port 0 to 65535")
    if not bracketed and ("[" in host or "]" in host or " " in host or "/" in host):
        raise ConfigError(key, text, "Unable to parse it: expected host:port")
    return (host[1:-1] if bracketed else host), int(port)


def parse_endpoints(key: str, texts: Iterable[str]) -> tuple[Endpoint, ...]:
    """The endpoints written in `texts`, names in capitals. Raises ConfigError for a bad one."""
    endpoints = []
    for text in texts:
        name, mark, rest = text.partition("://")
        if not mark or not name:
            raise ConfigError(
                key, text, "Unable to parse it to a broker endpoint: expected NAME://host:port"
            )
        endpoints.append(Endpoint(name.strip().upper(), *parse_address(key, rest)))
    return tuple(endpoints)


def parse_map(key: str, text: str) -> dict[str, str]:
    """The pairs of `name:value,name:value`; the last colon parts them. Raises ConfigError."""
    pairs: dict[str, str] = {}
    for member in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = member.rpartition(":")
        if not colon or not name.strip() or not value.strip():
            raise ConfigError(key, text, f"Unable to parse {member}: expected name:value")
        pairs[name.strip()] = value.strip()
    return pairs


def parse_counts(key: str, text: str) -> dict[str, int]:
    """The limits of `address:count,address:count`. Raises ConfigError."""
    counts: dict[str, int] = {}
    for address, count in parse_map(key, text).items():
        if not count.isascii() or not count.isdecimal():
            raise ConfigError(key, text, f"Unable to parse {count}: expected a count")
        counts[address.strip("[]")] = int(count)
    return counts


def check_listeners(key: str, endpoints: Sequence[Endpoint], protocols: Mapping[str, str]) -> None:
    """Refuse listeners that are none, share a name or port, or have no protocol that is built."""
    if not endpoints:
        raise ConfigError(key, "", "at least one listener must be given")
    texts = ",".join(f"{name}://{host}:{port}" for name, host, port in endpoints)
    names = [endpoint.name for endpoint in endpoints]
    if len(set(names)) != len(names):
        raise ConfigError(key, texts, "Each listener must have a different name")
    taken: dict[int, Endpoint] = {}
    for endpoint in endpoints:
        other = taken.setdefault(endpoint.port, endpoint) if endpoint.port else endpoint
        if other is not endpoint and not _may_share_port(other, endpoint):
            raise ConfigError(key, texts, "Each listener must have a different port")
    for endpoint in endpoints:
        protocol = protocols.get(endpoint.name)
        if protocol is None:
            reason = f"No security protocol defined for listener {endpoint.name}"
            raise ConfigError("listener.security.protocol.map", None, reason)
        if protocol != "PLAINTEXT":
            raise ConfigError(
                key,
                texts,
                f"TLS and SASL are not built yet, and listener {endpoint.name} is mapped to "
                f"{protocol}: map it to PLAINTEXT in listener.security.protocol.map",
            )


def _may_share_port(first: Endpoint, second: Endpoint) -> bool:
    """Two hosts of which one is IPv6 and the other is not (KIP-797), or two named addresses."""
    return bool(first.host and second.host) and (":" in first.host) != (":" in second.host)


def check_advertised(
    key: str, advertised: Sequence[Endpoint], listeners: Sequence[Endpoint]
) -> None:
    """Refuse advertised addresses nobody can reach, and names nobody listens under."""
    names = {endpoint.name for endpoint in listeners}
    for endpoint in advertised:
        text = f"{endpoint.name}://{endpoint.address}"
        if endpoint.name not in names:
            valid = ", ".join(sorted(names))
            raise ConfigError(
                key,
                text,
                "advertised.listeners listener names must be equal to or a subset of the ones "
                f"defined in listeners: {valid}",
            )
        if endpoint.host in UNROUTABLE:
            raise ConfigError(
                key,
                text,
                "advertised.listeners cannot use the nonroutable meta-address "
                f"{endpoint.host}. Use a routable IP address.",
            )
