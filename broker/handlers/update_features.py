"""UpdateFeatures (57): finalize levels of features for the whole cluster, all of them or none.

Up to v1 a success also lists each feature, with the generic text as its message; a failure is told
at the top alone, in every version. v0 has a flag for downgrades, at which Kafka's controller
does not look: nothing is downgraded in v0.
Source: KIP-584, KIP-778; `QuorumController.updateFeatures` of Kafka 4.3.
"""

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.features import FeatureUpdate
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

LAST_VERSION_WITH_RESULTS = 1


async def handle_update_features(
    context: RequestContext, request: UpdateFeaturesRequest, *, controller: Controller
) -> UpdateFeaturesResponse:
    """Finalize what is asked for, or say what stands in the way."""
    try:
        await controller.update_features(
            [
                FeatureUpdate(key.feature, key.max_version_level, key.upgrade_type)
                for key in request.feature_updates
            ],
            validate_only=request.validate_only,
        )
    except KafkaError as error:
        if error.code != ErrorCode.INVALID_UPDATE_VERSION:
            raise
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    if context.api_version > LAST_VERSION_WITH_RESULTS:
        return UpdateFeaturesResponse(error_message=None)
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=key.feature, error_message="NONE")
            for key in request.feature_updates
        ],
    )
