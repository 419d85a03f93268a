"""Feature levels: what this broker supports, and what the cluster has agreed to work at.

Transactions ask `transaction.version` (2: an epoch bump for each, KIP-890), group coordinators
`group.version` (1: the newer consumer groups, KIP-848), clients read both in ApiVersions. The
cluster keeps them in `/feature`, whose data version is their epoch; where that node was never
written, the cluster is of one broker and works at the levels of a fresh Kafka 4.3.

Source: KIP-584, KIP-778, KIP-1022; `FeatureControlManager`, `QuorumFeatures` of Kafka 4.3, without
the features of KRaft itself.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.update_features import UpgradeType

TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"


class FeatureRange(NamedTuple):
    """Levels of a feature, both ends included."""

    lowest: int
    highest: int

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"


class Features(NamedTuple):
    """What the cluster can do: supported levels, finalized ones, and the epoch of the latter."""

    supported: Mapping[str, FeatureRange]
    finalized: Mapping[str, int]
    epoch: int

    def level(self, name: str) -> int:
        """The level in force; 0 for a feature that is off."""
        return self.finalized.get(name, 0)


SUPPORTED: Final[Mapping[str, FeatureRange]] = {
    TRANSACTION_VERSION: FeatureRange(0, 2),
    GROUP_VERSION: FeatureRange(0, 1),
}
FIRST_LEVELS: Final[Mapping[str, int]] = {TRANSACTION_VERSION: 2, GROUP_VERSION: 1}
"""Of a cluster that never said otherwise."""
NO_FEATURES: Final = Features({}, {}, -1)
"""Of a broker that has not read its store yet."""
_UNSUPPORTED: Final = FeatureRange(0, 0)


class FeatureUpdate(NamedTuple):
    """A feature, the level it shall have (0 takes it out), and which way that may be."""

    name: str
    level: int
    upgrade_type: int


def updated_levels(
    controller_id: int, finalized: Mapping[str, int], updates: Iterable[FeatureUpdate]
) -> dict[str, int]:
    """The levels after the updates, of which all are good, or KafkaError with the first fault."""
    wanted = {update.name: update for update in updates}
    for update in wanted.values():
        fault = _find_fault(controller_id, finalized.get(update.name, 0), update)
        if fault is not None:
            raise KafkaError(
                ErrorCode.INVALID_UPDATE_VERSION,
                "The update failed for all features since the following feature had an error:"
                f" Invalid update version {update.level} for feature {update.name}. {fault}",
            )
    levels = {**finalized, **{name: update.level for name, update in wanted.items()}}
    return {name: level for name, level in levels.items() if level > 0}


def _find_fault(controller_id: int, current: int, update: FeatureUpdate) -> str | None:
    name, level, upgrade_type = update
    if upgrade_type not in set(UpgradeType) - {UpgradeType.UNKNOWN}:
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    supported = SUPPORTED.get(name, _UNSUPPORTED)
    if not supported.lowest <= level <= supported.highest:
        if supported.highest == 0:
            return f"Local controller {controller_id} does not support this feature."
        return f"Local controller {controller_id} only supports versions {supported}"
    if level < current and upgrade_type == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to"
            " either safe or unsafe downgrade."
        )
    if level > current and upgrade_type != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None if name in SUPPORTED else f"Feature {name} not found."
