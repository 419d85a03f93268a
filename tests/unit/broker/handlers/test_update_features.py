"""UpdateFeatures: the top tells the outcome; up to version 1 a success lists the features."""

from collections.abc import AsyncIterator

import pytest

from broker.handlers.update_features import handle_update_features
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.support.contexts import context
from tests.support.fake_cluster import Machine, Process


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    machine = Machine()
    await machine.prepare()
    yield await machine.start()
    await machine.stop()


async def update(
    process: Process, version: int, *keys: FeatureUpdateKey, validate_only: bool = False
) -> UpdateFeaturesResponse:
    response = await handle_update_features(
        context(version),
        UpdateFeaturesRequest(feature_updates=list(keys), validate_only=validate_only),
        controller=process.controller,
    )
    response.encode(version)
    return response


def level(process: Process) -> int:
    return process.metadata.features.level("transaction.version")


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_success_lists_the_features_up_to_version_one(
    process: Process, version: int
) -> None:
    key = FeatureUpdateKey(feature="group.version", max_version_level=1)
    response = await update(process, version, key)
    assert (response.error_code, response.error_message) == (0, None)
    told = [(one.feature, one.error_code, one.error_message) for one in response.results]
    assert told == ([("group.version", 0, "NONE")] if version < 2 else [])


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_failure_is_told_at_the_top_alone(process: Process, version: int) -> None:
    key = FeatureUpdateKey(feature="transaction.version", max_version_level=9)
    response = await update(process, version, key)
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert str(response.error_message).endswith("only supports versions 0-2")
    assert response.results == []


@pytest.mark.parametrize("allowed", [False, True])
async def test_nothing_is_downgraded_in_version_zero_whatever_its_flag_says(
    process: Process, allowed: bool
) -> None:
    key = FeatureUpdateKey(
        feature="transaction.version", max_version_level=1, allow_downgrade=allowed
    )
    response = await update(process, 0, key)
    assert "Can't downgrade" in str(response.error_message)
    assert level(process) == 2


async def test_a_trial_changes_nothing(process: Process) -> None:
    key = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=2)
    assert (await update(process, 1, key, validate_only=True)).error_code == 0
    assert level(process) == 2
    assert (await update(process, 2, key)).error_code == 0
    assert level(process) == 1


async def test_who_is_no_controller_says_so(process: Process) -> None:
    process.controller.close()
    key = FeatureUpdateKey(feature="transaction.version", max_version_level=1)
    with pytest.raises(KafkaError) as refused:
        await update(process, 2, key)
    assert refused.value.code == ErrorCode.NOT_CONTROLLER
