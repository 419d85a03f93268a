"""Feature updates: all or none, in Kafka's order of checks and in its words."""

import pytest

from cluster.features import FIRST_LEVELS, SUPPORTED, Features, FeatureUpdate, updated_levels
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.update_features import UpgradeType

UPGRADE, SAFE, UNSAFE = (
    UpgradeType.UPGRADE,
    UpgradeType.SAFE_DOWNGRADE,
    UpgradeType.UNSAFE_DOWNGRADE,
)


def updated(*updates: tuple[str, int, int], **finalized: int) -> dict[str, int]:
    levels = {f"{name}.version": level for name, level in finalized.items()}
    return updated_levels(1, levels, [FeatureUpdate(*update) for update in updates])


def test_a_feature_that_is_off_is_at_level_zero() -> None:
    features = Features(SUPPORTED, {"group.version": 1}, 0)
    assert features.level("group.version") == 1
    assert features.level("transaction.version") == 0


def test_levels_of_a_new_cluster_are_the_highest() -> None:
    assert {name: levels.highest for name, levels in SUPPORTED.items()} == FIRST_LEVELS


def test_a_level_goes_up_down_and_to_nothing() -> None:
    assert updated(("transaction.version", 2, UPGRADE), transaction=1) == {"transaction.version": 2}
    assert updated(("transaction.version", 1, SAFE), transaction=2) == {"transaction.version": 1}
    assert updated(("transaction.version", 0, UNSAFE), transaction=2, group=1) == {
        "group.version": 1
    }


@pytest.mark.parametrize("upgrade_type", [UPGRADE, SAFE, UNSAFE])
def test_the_level_in_force_is_always_good(upgrade_type: int) -> None:
    assert updated(("group.version", 1, upgrade_type), group=1) == {"group.version": 1}


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "fault"),
    [
        (
            "transaction.version",
            9,
            UPGRADE,
            "Local controller 1 only supports versions 0-2",
        ),
        ("metadata.version", 7, UPGRADE, "Local controller 1 does not support this feature."),
        ("nobody", 0, UPGRADE, "Feature nobody not found."),
        ("group.version", -1, SAFE, "A feature version cannot be less than 0."),
        ("group.version", 0, 0, "The controller does not support the given upgrade type."),
        ("group.version", 0, 9, "The controller does not support the given upgrade type."),
        (
            "group.version",
            0,
            UPGRADE,
            "Can't downgrade the version of this feature without setting the upgrade type to"
            " either safe or unsafe downgrade.",
        ),
        ("transaction.version", 2, SAFE, "Can't downgrade to a newer version."),
    ],
)
def test_one_bad_update_refuses_all(name: str, level: int, upgrade_type: int, fault: str) -> None:
    with pytest.raises(KafkaError) as refused:
        updated(("transaction.version", 1, UPGRADE), (name, level, upgrade_type), group=1)
    assert refused.value.code == ErrorCode.INVALID_UPDATE_VERSION
    assert refused.value.message == (
        "The update failed for all features since the following feature had an error:"
        f" Invalid update version {level} for feature {name}. {fault}"
    )


def test_of_two_updates_of_a_feature_the_last_holds() -> None:
    assert updated(("group.version", 9, UPGRADE), ("group.version", 1, UPGRADE)) == {
        "group.version": 1
    }
