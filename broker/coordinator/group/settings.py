"""What coordinators of groups are told by the configuration, live, and what they tell of it."""

import enum
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from config.broker_config import BrokerConfig
from config.keys import groups


class Reason(enum.Enum):
    """Why a group is balanced anew; each rebalance has one."""

    MEMBER_JOINED = "member joined"
    MEMBER_LEFT = "member left"
    SESSION_EXPIRED = "session expired"
    METADATA_CHANGED = "metadata changed"
    LEADER_REJOINED = "leader rejoined"
    STATIC_MEMBER_REPLACED = "static member replaced"
    SYNC_EXPIRED = "sync expired"
    STORE_FAILED = "store failed"
    OVER_CAPACITY = "over capacity"


class GroupMeters:
    """Plain counters, for the metrics: rebalances by what they were for."""

    __slots__ = ("completed_rebalances", "rebalances")

    def __init__(self) -> None:
        self.rebalances: Counter[Reason] = Counter()
        self.completed_rebalances = 0


class GroupSettings(NamedTuple):
    """Live values, and a source of ids that nobody had before."""

    min_session_timeout_ms: Callable[[], int]
    max_session_timeout_ms: Callable[[], int]
    initial_rebalance_delay_ms: Callable[[], int]
    max_size: Callable[[], int]
    metadata_max_bytes: Callable[[], int]
    retention_minutes: Callable[[], int]
    retention_check_ms: Callable[[], int]
    unique: Callable[[], str]


def group_settings(config: BrokerConfig, unique: Callable[[], str]) -> GroupSettings:
    """Those of a broker."""
    live = config.live
    return GroupSettings(
        live(groups.GROUP_MIN_SESSION_TIMEOUT_MS),
        live(groups.GROUP_MAX_SESSION_TIMEOUT_MS),
        live(groups.GROUP_INITIAL_REBALANCE_DELAY_MS),
        live(groups.GROUP_MAX_SIZE),
        live(groups.OFFSET_METADATA_MAX_BYTES),
        live(groups.OFFSETS_RETENTION_MINUTES),
        live(groups.OFFSETS_RETENTION_CHECK_INTERVAL_MS),
        unique,
    )
