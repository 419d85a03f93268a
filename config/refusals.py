"""Settings of Kafka whose subject is not built here: taken at their default, else refused.

Nothing a person asked for is silently left undone. A file for a single self-managed (KRaft) node is
taken: its roles and its quorum of one describe what this process is anyway.
"""

from collections.abc import Mapping

from config.broker_config import BrokerConfig
from config.catalogue import KEYS, LISTENER_PREFIX, find_key
from config.definition import REFUSED, ConfigError, Key
from config.keys import network, node
from config.listeners import parse_endpoints


def check_built(config: BrokerConfig) -> None:
    """Raise ConfigError for the first setting that asks for something this broker cannot do."""
    for name, text in config.static.items():
        remedy = why_refused(name, text)
        if remedy is not None:
            key = find_key(name)
            hidden = key is not None and key.sensitive
            raise ConfigError(name, "[hidden]" if hidden else text, remedy)
    _check_roles(config)
    _check_quorum(config)


def why_refused(name: str, text: str) -> str | None:
    """What to do instead of setting `name` to `text`; None if it may be set."""
    key = KEYS.get(name)
    if key is not None:
        return key.remedy if key.status == REFUSED and not _is_default(key, text) else None
    if name.startswith(LISTENER_PREFIX):
        key = find_key(name)
        if key is not None:
            return key.remedy or f"settings for one listener are not built yet: set {key.name}"
    return _why_retired(name, text)


def _is_default(key: Key[object], text: str) -> bool:
    return key.parse(text) == key.default or text.strip() in key.tolerated


def _why_retired(name: str, text: str) -> str | None:
    from config.keys.retired import RETIRED, is_retired, remedy  # seldom needed

    if not is_retired(name) or RETIRED.get(name) == text.strip():
        return None
    return remedy(name)


def _check_roles(config: BrokerConfig) -> None:
    roles = config[node.PROCESS_ROLES]
    if roles is not None and "broker" not in roles:
        raise ConfigError(
            node.PROCESS_ROLES.name,
            ",".join(roles),
            "this process is a broker with its controller inside: write broker,controller",
        )


def _check_quorum(config: BrokerConfig) -> None:
    key = node.CONTROLLER_QUORUM_VOTERS
    voters = config[key]
    number = config[node.NODE_ID]
    alone = "a quorum of several nodes is not built: name this node alone, as "
    if voters:
        shown = ",".join(voters)
        voter, at, address = voters[0].partition("@")
        if len(voters) > 1 or not at or ":" not in address:
            raise ConfigError(key.name, shown, f"{alone}{number or 1}@host:port")
        if number is None or voter != str(number):
            raise ConfigError(key.name, shown, f"{alone}node.id, which is {number}")
    servers = config[node.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS]
    if servers:
        _check_bootstrap(config, servers)


def _check_bootstrap(config: BrokerConfig, servers: tuple[str, ...]) -> None:
    """One server is this node when it is a controller listener of this very file."""
    host, _, port = servers[0].rpartition(":")
    texts = (*config[network.LISTENERS], *(config[network.ADVERTISED_LISTENERS] or ()))
    names = config.controller_listener_names
    ports = {str(e.port) for e in parse_endpoints("listeners", texts) if e.name in names}
    is_controller = "controller" in (config[node.PROCESS_ROLES] or ())
    is_self = port in ports or (is_controller and host in ("localhost", "127.0.0.1", "[::1]"))
    if len(servers) > 1 or not is_self:
        raise ConfigError(
            node.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS.name,
            ",".join(servers),
            "a quorum of several nodes is not built: name this node's controller listener, "
            "or remove this line",
        )


def unknown_names(static: Mapping[str, str]) -> list[str]:
    """The names in `static` that no Kafka knows."""
    from config.keys.retired import is_retired  # seldom needed

    strangers = [name for name in static if find_key(name) is None]
    return [name for name in strangers if not is_retired(name)]
