"""Subscriptions and assignments of classic consumers, as members send them to each other."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.api_keys import ApiKey
from protocol.consumer_protocol import (
    HIGHEST_VERSION,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    version_of,
)
from protocol.errors import MalformedFrame
from protocol.headers import decode_request_header, decode_response_header
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.sync_group import SyncGroupResponse

WIRE = Path(__file__).parents[2] / "golden" / "wire.jsonl.xz"
OWNED = [TopicPartitions(topic="a", partitions=[1, 2])]
FULL = ConsumerProtocolSubscription(
    topics=["a", "b"], user_data=b"u", owned_partitions=OWNED, generation_id=4, rack_id="r"
)


def frames(api_key: ApiKey, side: str) -> Iterator[tuple[int, bytes]]:
    """(version, frame) of an API, as real clients and Kafka 4.3.1 sent them."""
    with lzma.open(WIRE, "rt") as lines:
        for pair in map(json.loads, lines):
            if pair["key"] == api_key:
                yield pair["version"], bytes.fromhex(pair[side])


def test_subscriptions_of_real_clients_come_back_to_the_same_bytes() -> None:
    seen = set()
    for version, frame in frames(ApiKey.JOIN_GROUP, "request"):
        body = decode_request_header(frame).body_offset
        for protocol in JoinGroupRequest.decode(frame, version, body).protocols:
            subscription = decode_subscription(protocol.metadata)
            assert subscription.topics
            seen.add(version_of(protocol.metadata))
            again = encode_subscription(subscription, version_of(protocol.metadata))
            assert again == protocol.metadata
    assert seen == {0, 3}


def test_assignments_of_real_clients_come_back_to_the_same_bytes() -> None:
    seen = set()
    for version, frame in frames(ApiKey.SYNC_GROUP, "response"):
        _, body = decode_response_header(frame, ApiKey.SYNC_GROUP, version)
        blob = SyncGroupResponse.decode(frame, version, body).assignment
        if blob:
            seen.add(version_of(blob))
            assert encode_assignment(decode_assignment(blob), version_of(blob)) == blob
    assert seen == {0, 3}


def test_each_version_adds_a_field_and_older_ones_go_without() -> None:
    read = [decode_subscription(encode_subscription(FULL, version)) for version in range(4)]
    assert [one.owned_partitions for one in read] == [[], OWNED, OWNED, OWNED]
    assert [one.generation_id for one in read] == [-1, -1, 4, 4]
    assert [one.rack_id for one in read] == [None, None, None, "r"]
    assert all((one.topics, one.user_data) == (["a", "b"], b"u") for one in read)


def test_newer_versions_are_read_as_the_newest_known_and_what_is_left_is_ignored() -> None:
    newest = encode_subscription(FULL)
    assert decode_subscription(b"\0\7" + newest[2:] + b"something new") == FULL
    assert encode_subscription(FULL, 7) == newest
    assignment = ConsumerProtocolAssignment(assigned_partitions=OWNED)
    blob = encode_assignment(assignment, 9)
    assert version_of(blob) == HIGHEST_VERSION
    assert decode_assignment(b"\0\7" + blob[2:] + b"!") == assignment


@pytest.mark.parametrize(
    "blob", [b"", b"\0", b"\xff\xff" + bytes(8), b"\0\1\0\0", encode_subscription(FULL)[:-1]]
)
def test_anything_else_is_malformed(blob: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_subscription(blob)
    with pytest.raises(MalformedFrame):
        decode_assignment(blob)


def test_a_blob_of_countless_topics_is_malformed() -> None:
    with pytest.raises(MalformedFrame, match="items"):
        decode_subscription(b"\0\0" + (1_000_000).to_bytes(4, "big") + bytes(2_000_000))
