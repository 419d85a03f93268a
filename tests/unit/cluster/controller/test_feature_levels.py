"""Levels of features survive a restart, and their epoch grows with every change."""

from collections.abc import AsyncIterator

import pytest

from cluster import znodes
from cluster.controller.feature_levels import features_of
from cluster.features import FIRST_LEVELS, NO_FEATURES, FeatureUpdate
from cluster.store.port import Znode
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.update_features import UpgradeType
from tests.support.fake_cluster import Machine

DOWN = FeatureUpdate("transaction.version", 1, UpgradeType.SAFE_DOWNGRADE)
OFF = FeatureUpdate("group.version", 0, UpgradeType.SAFE_DOWNGRADE)


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    machine = Machine()
    await machine.prepare()
    yield machine
    await machine.stop()


def test_what_other_brokers_wrote_is_taken() -> None:
    node = Znode(b'{"features":{"f":{"max_version_level":3}},"version":2,"status":1}', 7, 1)
    features = features_of(node)
    assert (features.finalized, features.epoch) == ({"f": 3}, 7)
    assert features_of(Znode(znodes.encode_features({}), 0, 1)).finalized == {}


async def test_a_cluster_that_never_said_otherwise_works_at_the_first_levels(
    machine: Machine,
) -> None:
    process = machine.boot()
    assert process.metadata.features == NO_FEATURES
    await process.start()
    assert process.metadata.features.finalized == FIRST_LEVELS
    assert process.metadata.features.epoch == 0
    assert await machine.store.get(znodes.FEATURE) is None


async def test_changes_are_stored_under_a_greater_epoch_each(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.update_features([DOWN])
    features = process.metadata.features
    assert features.finalized == {"transaction.version": 1, "group.version": 1}
    assert features.epoch == 1
    await process.controller.update_features([OFF])
    assert process.metadata.features.finalized == {"transaction.version": 1}
    assert process.metadata.features.epoch == 2
    node = await machine.store.get(znodes.FEATURE)
    assert node is not None
    assert node.data == (
        b'{"features":{"transaction.version":{"max_version_level":1}},"version":2,"status":1}'
    )
    await process.stop()
    again = await machine.start()
    assert again.metadata.features == process.metadata.features


async def test_nothing_is_written_to_try_to_change_nothing_or_to_fail(machine: Machine) -> None:
    process = await machine.start()
    before = process.metadata.features
    await process.controller.update_features([DOWN], validate_only=True)
    await process.controller.update_features([])
    await process.controller.update_features(
        [FeatureUpdate("group.version", 1, UpgradeType.UPGRADE)]
    )
    with pytest.raises(KafkaError) as refused:
        await process.controller.update_features([DOWN, OFF._replace(level=5)])
    assert refused.value.code == ErrorCode.INVALID_UPDATE_VERSION
    assert process.metadata.features is before
    assert await machine.store.get(znodes.FEATURE) is None
