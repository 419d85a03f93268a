"""ApiVersions tells what is served, to known and unknown versions of itself."""

import pytest

from broker.context import Peer, RequestContext
from broker.handlers.api_versions import (
    advertised,
    handle_api_versions,
    unknown_version_response,
    valid_software_text,
)
from cluster.features import NO_FEATURES, FeatureRange, Features
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.headers import RequestHeader
from protocol.messages import fetch, produce
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

FEATURES = Features(
    {"metadata.version": FeatureRange(7, 30), "group.version": FeatureRange(0, 1)},
    {"group.version": 1, "share.version": 0},
    12,
)


def ask(
    version: int, features: Features = NO_FEATURES, name: str = "client", software: str = "1.0"
) -> tuple[ApiVersionsResponse, Peer]:
    peer = Peer("PLAINTEXT", "127.0.0.1", "1")
    context = RequestContext(RequestHeader(18, version, 1, None, 10), peer, 0.0)
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    response = handle_api_versions(
        context, request, api_versions=advertised([ApiKey.API_VERSIONS]), features=lambda: features
    )
    response.encode(version)
    return response, peer


def test_only_apis_with_a_handler_are_told_by_key() -> None:
    told = advertised([ApiKey.FETCH, ApiKey.API_VERSIONS, ApiKey.PRODUCE, ApiKey.VOTE])
    assert [api.api_key for api in told] == [0, 1, 18]
    assert told[1].max_version == fetch.FetchRequest.valid_versions.stop - 1


def test_produce_is_told_from_version_zero_though_served_from_three() -> None:
    [told] = advertised([ApiKey.PRODUCE])
    assert (told.min_version, told.max_version) == (0, 13)
    assert produce.ProduceRequest.valid_versions.start == 3


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_answered(version: int) -> None:
    response, _ = ask(version)
    assert response.error_code == ErrorCode.NONE
    assert response.api_keys == [ApiVersion(api_key=18, min_version=0, max_version=4)]
    assert response.finalized_features_epoch == -1


def test_features_from_level_zero_are_told_from_version_four_on() -> None:
    for version, names in ((3, ["metadata.version"]), (4, ["metadata.version", "group.version"])):
        response, _ = ask(version, FEATURES)
        assert [feature.name for feature in response.supported_features] == names
        [finalized] = response.finalized_features
        assert finalized.name == "group.version"
        assert (finalized.min_version_level, finalized.max_version_level) == (1, 1)
        assert response.finalized_features_epoch == 12


def test_the_client_software_is_remembered_from_version_three_on() -> None:
    _, peer = ask(3, name="librdkafka", software="2.11.0")
    assert (peer.client_software_name, peer.client_software_version) == ("librdkafka", "2.11.0")
    _, peer = ask(2)
    assert peer.client_software_name == "unknown"


@pytest.mark.parametrize("text", ["a", "A1", "apache-kafka-java", "1.2.3-rc.1", "a--b..c"])
def test_names_of_letters_digits_dashes_and_dots_are_valid(text: str) -> None:
    assert valid_software_text(text)


@pytest.mark.parametrize("text", ["", "-x", "x-", ".", "a_b", "a b", "é", "a\n", "²"])
def test_other_names_are_refused_with_no_keys(text: str) -> None:
    assert not valid_software_text(text)
    for name, software in ((text, "1.0"), ("client", text)):
        response, peer = ask(3, name=name, software=software)
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert response.api_keys == []
        assert peer.client_software_name == "unknown"


def test_an_unknown_version_is_told_the_versions_of_api_versions() -> None:
    response = unknown_version_response()
    assert response.encode(0) == bytes.fromhex("0023 00000001 0012 0000 0004")
