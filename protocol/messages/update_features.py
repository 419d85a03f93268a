"""UpdateFeatures (57): finalize levels of features for the whole cluster (KIP-584).

v1 three kinds of change in place of a flag, and a trial run (KIP-778), v2 the answer no longer
tells each feature. Flexible from v0.
"""

import enum

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class UpgradeType(enum.IntEnum):
    """Which way a level may go; an unsafe downgrade may lose metadata."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdateKey(Message):
    """A feature and its new level; below 1 the feature is taken out."""

    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean("0", ignorable=False)
    upgrade_type: int = int8("1+", default=UpgradeType.UPGRADE.value, ignorable=False)


class UpdateFeaturesRequest(Request, api_key=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+"):
    """The features to change (`UpgradeType`), all or none, or only to check."""

    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean("1+", ignorable=False)

    def refusal(self, failure: Failure) -> "UpdateFeaturesResponse":
        """The code and the message at the top; no features."""
        return UpdateFeaturesResponse(error_code=failure.code, error_message=failure.message)


class UpdatableFeatureResult(Message):
    """What became of one feature."""

    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class UpdateFeaturesResponse(
    Response, api_key=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+"
):
    """What became of the request."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, "0-1")
