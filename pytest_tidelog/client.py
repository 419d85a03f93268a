"""Just enough of a client to make and remove a topic, on one blocking socket.

The plugin must work beside any client library and without one, so it speaks the protocol itself.
"""

import socket

from protocol.errors import ErrorCode, KafkaError
from protocol.headers import decode_response_header, encode_request
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
from protocol.schema.message import Request

TIMEOUT_SECONDS = 30
CLIENT_ID = "pytest-tidelog"
CREATE_VERSION, DELETE_VERSION = 7, 6


def create_topic(address: str, name: str, partitions: int = 1) -> None:
    """Create the topic; KafkaError as the broker answered."""
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_SECONDS * 1000)
    body = _exchange(address, request, CREATE_VERSION)
    answer = CreateTopicsResponse.decode(body, CREATE_VERSION).topics[0]
    if answer.error_code:
        raise KafkaError(ErrorCode(answer.error_code), answer.error_message)


def delete_topic(address: str, name: str) -> None:
    """Delete the topic; one that is gone already is fine."""
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_SECONDS * 1000
    )
    body = _exchange(address, request, DELETE_VERSION)
    answer = DeleteTopicsResponse.decode(body, DELETE_VERSION).responses[0]
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        raise KafkaError(ErrorCode(answer.error_code), answer.error_message)


def _exchange(address: str, request: Request, version: int) -> bytes:
    """Send one request and return the body of its response."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_SECONDS) as connection:
        connection.sendall(encode_request(request, version, 0, CLIENT_ID))
        with connection.makefile("rb") as answers:
            response = answers.read(int.from_bytes(answers.read(4), "big"))
    _, body_offset = decode_response_header(response, request.api_key, version)
    return response[body_offset:]
