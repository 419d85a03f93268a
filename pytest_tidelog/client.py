"""Just enough of a client to make and remove a topic, on one blocking socket.

The plugin must work beside any client library and without one, so it speaks the protocol itself.
"""

import socket
import struct

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

TIMEOUT_SECONDS = 30
CLIENT_ID = b"pytest-tidelog"
CREATE_VERSION, DELETE_VERSION = 7, 6


def create_topic(address: str, name: str, partitions: int = 1) -> None:
    """Create the topic; KafkaError as the broker answered."""
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_SECONDS * 1000)
    body = _exchange(address, ApiKey.CREATE_TOPICS, CREATE_VERSION, request.encode(CREATE_VERSION))
    answer = CreateTopicsResponse.decode(body, CREATE_VERSION).topics[0]
    if answer.error_code:
        raise KafkaError(ErrorCode(answer.error_code), answer.error_message)


def delete_topic(address: str, name: str) -> None:
    """Delete the topic; one that is gone already is fine."""
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_SECONDS * 1000
    )
    body = _exchange(address, ApiKey.DELETE_TOPICS, DELETE_VERSION, request.encode(DELETE_VERSION))
    answer = DeleteTopicsResponse.decode(body, DELETE_VERSION).responses[0]
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        raise KafkaError(ErrorCode(answer.error_code), answer.error_message)


def _exchange(address: str, api_key: ApiKey, version: int, body: bytes) -> bytes:
    """Send one request with a flexible header (v2) and return the body of its response (v1)."""
    header = struct.pack(">hhih", api_key, version, 0, len(CLIENT_ID)) + CLIENT_ID + b"\0"
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        with connection.makefile("rb") as answers:
            (size,) = struct.unpack(">i", answers.read(4))
            return answers.read(size)[5:]  # correlation id and an empty tag section
