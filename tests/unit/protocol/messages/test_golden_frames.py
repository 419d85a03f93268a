"""Frames recorded between real clients and Apache Kafka 4.3.1 decode and encode to the same bytes.

tests/golden/wire.jsonl.xz has a line for each pair: API key, version, and both frames in hex,
without their sizes.
"""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    response_header_prefix,
)
from protocol.schema.describe import import_all
from protocol.schema.message import REQUESTS, RESPONSES

GOLDEN = Path(__file__).parents[3] / "golden" / "wire.jsonl.xz"
NOBODYS_VERSION = 99
LIBRDKAFKA_ALL_TOPICS = "0003000d00000004000772646b61666b610000000000010000"
"""Its array count of null takes four bytes, so that three are left when Kafka has read it all."""

import_all()


def pairs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in lzma.decompress(GOLDEN.read_bytes()).splitlines()]


PAIRS = pairs()
DECLARED = [pair for pair in PAIRS if pair["version"] != NOBODYS_VERSION]


def test_most_versions_declared_are_covered() -> None:
    covered = {(pair["key"], pair["version"]) for pair in DECLARED}
    assert len(covered) >= 105
    assert set(REQUESTS) - {key for key, _ in covered} == {
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        ApiKey.LIST_CONFIG_RESOURCES,
    }


@pytest.mark.parametrize("index", range(len(DECLARED)))
def test_requests_come_back_to_the_same_bytes(index: int) -> None:
    pair = DECLARED[index]
    key, version = pair["key"], pair["version"]
    frame = bytes.fromhex(pair["request"])
    header = decode_request_header(memoryview(frame))
    assert (header.api_key, header.api_version) == (key, version)
    request = REQUESTS[key].decode(memoryview(frame), version, header.body_offset)
    again = encode_request_header(key, version, header.correlation_id, header.client_id)
    again += request.encode(version)
    if pair["request"] == LIBRDKAFKA_ALL_TOPICS:
        assert frame == again + b"\1\0\0"
    else:
        assert frame == again


@pytest.mark.parametrize("index", range(len(DECLARED)))
def test_responses_come_back_to_the_same_bytes(index: int) -> None:
    pair = DECLARED[index]
    key, version = pair["key"], pair["version"]
    frame = bytes.fromhex(pair["response"])
    correlation_id, body = decode_response_header(frame, key, version)
    response = RESPONSES[key].decode(frame, version, body)
    prefix = response_header_prefix(key, version, correlation_id)
    assert response.encode_parts(version, prefix) == [frame]


def test_an_api_versions_request_of_a_version_nobody_has_is_answered_in_version_0() -> None:
    (pair,) = [pair for pair in PAIRS if pair["version"] == NOBODYS_VERSION]
    header = decode_request_header(bytes.fromhex(pair["request"]))
    assert header.api_version == NOBODYS_VERSION
    frame = bytes.fromhex(pair["response"])
    correlation_id, body = decode_response_header(frame, pair["key"], 0)
    assert correlation_id == header.correlation_id
    assert RESPONSES[pair["key"]].decode(frame, 0, body).encode(0) == frame[body:]
