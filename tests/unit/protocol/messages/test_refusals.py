"""How a whole request is refused: with its code wherever the API has a place for one."""

from typing import Any

import pytest

from broker.error_counts import ERROR_FIELDS
from protocol.errors import ErrorCode
from protocol.messages import (
    create_topics,
    delete_topics,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    metadata,
    produce,
)
from protocol.schema.message import RESPONSES, Request
from tests.support.message_values import declared, version_id

CODE = ErrorCode.INVALID_REQUEST
WITHOUT_A_PLACE = {(describe_log_dirs.DescribeLogDirsRequest, version) for version in (1, 2)}
"""Kafka answers with no directories there."""
REQUEST_VERSIONS = [
    (message, version)
    for message in declared()
    if issubclass(message, Request)
    for version in message.valid_versions
]


def codes_in(value: Any, version: int) -> list[int]:
    """The error codes of a message, wherever `version` has a place for one."""
    if isinstance(value, list):
        return [code for item in value for code in codes_in(item, version)]
    codes: list[int] = []
    for field in getattr(value, "__fields__", ()):
        if field.in_version(version):
            item = getattr(value, field.name)
            codes += [item] if field.name in ERROR_FIELDS else codes_in(item, version)
    return codes


@pytest.mark.parametrize(("message", "version"), REQUEST_VERSIONS, ids=version_id)
def test_an_empty_request_can_be_refused_in_every_version(
    message: type[Request], version: int
) -> None:
    request = message()
    if isinstance(request, produce.ProduceRequest):
        request.acks = 1
    answer = request.error_response(version, CODE)
    assert type(answer) is RESPONSES[message.api_key]
    assert RESPONSES[message.api_key].decode(answer.encode(version), version)
    assert set(codes_in(answer, version)) <= {CODE}


def test_produce_refuses_each_partition_and_says_nothing_to_acks_0() -> None:
    request = produce.ProduceRequest(
        acks=-1,
        topic_data=[
            produce.TopicProduceData(
                name="a",
                partition_data=[produce.PartitionProduceData(index=index) for index in (4, 7)],
            )
        ],
    )
    answer = request.error_response(9, CODE, "because")
    assert isinstance(answer, produce.ProduceResponse)
    partitions = answer.responses[0].partition_responses
    assert [(p.index, p.error_code, p.base_offset) for p in partitions] == [
        (4, 42, -1),
        (7, 42, -1),
    ]
    assert partitions[0].error_message == "because"
    request.acks = 0
    assert request.error_response(9, CODE) is None


@pytest.mark.parametrize(("version", "listed"), [(4, 1), (12, 1), (13, 0), (17, 0)])
def test_fetch_lists_partitions_as_long_as_topics_have_names(version: int, listed: int) -> None:
    partition = fetch.FetchPartition(partition=3)
    request = fetch.FetchRequest(
        session_id=5, topics=[fetch.FetchTopic(topic="a", partitions=[partition])]
    )
    answer = request.error_response(version, CODE)
    assert isinstance(answer, fetch.FetchResponse)
    assert len(answer.responses) == listed
    decoded = fetch.FetchResponse.decode(answer.encode(version), version)
    if version >= 7:
        assert (decoded.error_code, decoded.session_id) == (CODE, 5)
    if listed:
        assert decoded.responses[0].partitions[0].error_code == CODE
        assert decoded.responses[0].partitions[0].records == b""


def test_metadata_names_no_null_before_the_version_that_may() -> None:
    by_id = metadata.MetadataRequestTopic(topic_id=b"\1" * 16, name=None)
    request = metadata.MetadataRequest(topics=[by_id])
    for version, name in ((10, ""), (12, None)):
        answer = request.error_response(version, CODE)
        assert isinstance(answer, metadata.MetadataResponse)
        assert answer.topics[0].name == name
        assert metadata.MetadataResponse.decode(answer.encode(version), version)


def test_delete_topics_answers_names_and_ids() -> None:
    by_name = delete_topics.DeleteTopicsRequest(topic_names=["a"])
    state = delete_topics.DeleteTopicState(topic_id=b"\2" * 16)
    by_id = delete_topics.DeleteTopicsRequest(topics=[state])
    for request, version, name in ((by_name, 5, "a"), (by_id, 6, None)):
        answer = request.error_response(version, CODE)
        assert isinstance(answer, delete_topics.DeleteTopicsResponse)
        assert answer.responses[0].name == name
        assert answer.responses[0].error_code == CODE
        assert answer.encode(version)


def test_messages_are_null_where_kafka_leaves_them_and_generic_where_it_does_not() -> None:
    topics = create_topics.CreateTopicsRequest(topics=[create_topics.CreatableTopic(name="a")])
    created = topics.error_response(5, CODE)
    assert isinstance(created, create_topics.CreateTopicsResponse)
    assert created.topics[0].error_message is None
    resource = describe_configs.DescribeConfigsResource(resource_type=2, resource_name="a")
    configs = describe_configs.DescribeConfigsRequest(resources=[resource])
    described = configs.error_response(1, CODE)
    assert isinstance(described, describe_configs.DescribeConfigsResponse)
    assert described.results[0].error_message == CODE.text


def test_items_are_echoed() -> None:
    request = describe_topic_partitions.DescribeTopicPartitionsRequest(
        topics=[describe_topic_partitions.TopicRequest(name="a")]
    )
    answer = request.error_response(0, CODE)
    assert isinstance(answer, describe_topic_partitions.DescribeTopicPartitionsResponse)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", CODE)]


@pytest.mark.parametrize(("message", "version"), REQUEST_VERSIONS, ids=version_id)
def test_every_item_of_a_request_is_refused(message: type[Request], version: int) -> None:
    request = filled(message, version)
    answer = request.error_response(version, CODE, "because")
    assert answer is not None
    assert codes_in(answer, version) or (message, version) in WITHOUT_A_PLACE
    assert set(codes_in(answer, version)) <= {CODE}
    assert RESPONSES[message.api_key].decode(answer.encode(version), version)


def filled(cls: Any, version: int) -> Any:
    """A value with one item in every list and struct that `version` has."""
    values: dict[str, Any] = {}
    for field in cls.__fields__:
        if field.in_version(version) and isinstance(field.of, type):
            inner = filled(field.of, version)
            values[field.name] = [inner] if field.kind == "array" else inner
        elif field.kind == "array" and field.in_version(version):
            values[field.name] = ["a"] if field.of == "string" else [1]
        elif field.name == "acks":
            values[field.name] = 1
    return cls(**values)
