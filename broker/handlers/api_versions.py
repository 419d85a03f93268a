"""ApiVersions: what this broker speaks, told before anything else, authentication included.

Only APIs with a handler are told, in the versions their declarations advertise. Up to v3 a
supported feature whose lowest level is 0 is left out, because clients of that time refuse the whole
answer otherwise (KAFKA-17011). No features at all means an epoch of -1: nothing is finalized.
Source: KIP-511, KIP-584; Kafka 4.3 `ApiVersionsResponse`, `ApiVersionsRequest.isValid`.
"""

from collections.abc import Callable, Iterable

from broker.context import RequestContext
from cluster.features import Features
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from protocol.schema.message import served_versions

FIRST_VERSION_WITH_NAME = 3
FIRST_VERSION_WITH_ZERO_FEATURES = 4


def advertised(api_keys: Iterable[ApiKey]) -> list[ApiVersion]:
    """The version ranges of these APIs as clients are told them, by key."""
    ranges = []
    for api_key in sorted(api_keys):
        versions = served_versions(api_key)
        if versions is not None:
            _, highest, lowest = versions
            ranges.append(ApiVersion(api_key=int(api_key), min_version=lowest, max_version=highest))
    return ranges


def handle_api_versions(
    context: RequestContext,
    request: ApiVersionsRequest,
    *,
    api_versions: list[ApiVersion],
    features: Callable[[], Features],
) -> ApiVersionsResponse:
    """Tell versions and features, and remember which client asked."""
    version = context.api_version
    if version >= FIRST_VERSION_WITH_NAME:
        name, software = request.client_software_name, request.client_software_version
        if not (valid_software_text(name) and valid_software_text(software)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.peer.client_software_name = name
        context.peer.client_software_version = software
    lowest = 0 if version >= FIRST_VERSION_WITH_ZERO_FEATURES else 1
    supported, finalized, epoch = features()
    return ApiVersionsResponse(
        api_keys=api_versions,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in supported.items()
            if levels.lowest >= lowest
        ],
        finalized_features_epoch=epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in finalized.items()
            if level > 0
        ],
    )


def unknown_version_response() -> ApiVersionsResponse:
    """The answer, always in version 0, to an ApiVersions request of a version not served."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=advertised([ApiKey.API_VERSIONS])
    )


def valid_software_text(text: str) -> bool:
    """Letters and digits, with dashes and dots between them, as KIP-511 asks for."""
    return (
        text.isascii()
        and text.replace("-", "a").replace(".", "a").isalnum()
        and text[0].isalnum()
        and text[-1].isalnum()
    )
