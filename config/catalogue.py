"""Every broker setting by name, gathered from the areas."""

from typing import Any

from config.definition import Area, Key
from config.keys import (
    groups,
    log,
    network,
    node,
    observability,
    replication,
    security,
    share,
    tiering,
    transactions,
)

AREAS: tuple[Area, ...] = (
    node.AREA,
    network.AREA,
    log.AREA,
    replication.AREA,
    groups.AREA,
    share.AREA,
    transactions.AREA,
    observability.AREA,
    security.AREA,
    tiering.AREA,
)
KEYS: dict[str, Key[Any]] = {key.name: key for area in AREAS for key in area.keys}
DEFAULTS: dict[str, Any] = {name: key.default for name, key in KEYS.items()}


def find_key(name: str) -> Key[Any] | None:
    """The setting called `name`, also behind a `listener.name.<listener>.` prefix."""
    key = KEYS.get(name)
    if key is None and name.startswith(LISTENER_PREFIX):
        return KEYS.get(strip_listener(name))
    return key


LISTENER_PREFIX = "listener.name."


def strip_listener(name: str) -> str:
    """`name` without its `listener.name.<listener>.`, and without a SASL mechanism after it."""
    base = name[len(LISTENER_PREFIX) :].partition(".")[2]
    if base not in KEYS:
        unprefixed = base.partition(".")[2]
        if unprefixed.startswith("sasl.") and unprefixed in KEYS:
            return unprefixed
    return base
