"""ApiVersions (18): which versions of which APIs this broker takes; the first request of a client.

v1 adds the throttle time, v2 changes nothing, v3 is flexible and adds the client's name and the
cluster's features (KIP-511, KIP-584), v4 stays the same on the wire and may tell features whose
lowest version is 0 (KIP-1022). The response header is v0 in every version, and an unknown version
is answered in version 0, so that a newer client can read which versions there are.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class ApiVersionsRequest(Request, api_key=ApiKey.API_VERSIONS, versions="0-4", flexible="3+"):
    """Asks for the versions, and says which client asks."""

    client_software_name: str = string("3+")
    client_software_version: str = string("3+")

    def refusal(self, failure: Failure) -> "ApiVersionsResponse":
        """The code at the top; no APIs."""
        return ApiVersionsResponse(error_code=failure.code)


class ApiVersion(Message):
    """The versions of one API."""

    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Message):
    """The levels of a feature that this broker can work at."""

    name: str = string("3+")
    min_version: int = int16("3+")
    max_version: int = int16("3+")


class FinalizedFeatureKey(Message):
    """The level of a feature that the cluster works at."""

    name: str = string("3+")
    max_version_level: int = int16("3+")
    min_version_level: int = int16("3+")


class ApiVersionsResponse(Response, api_key=ApiKey.API_VERSIONS, versions="0-4", flexible="3+"):
    """All APIs of this listener, and the features."""

    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+")
    supported_features: list[SupportedFeatureKey] = array(SupportedFeatureKey, "3+", tag=0)
    finalized_features_epoch: int = int64("3+", tag=1, default=-1)
    finalized_features: list[FinalizedFeatureKey] = array(FinalizedFeatureKey, "3+", tag=2)
    zk_migration_ready: bool = boolean("3+", tag=3)
