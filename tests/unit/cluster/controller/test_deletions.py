"""Answers as a 4.3.1 broker gave them."""

from cluster.controller.deletions import DeletionResult, TopicReference, resolve
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
IDS = {"a": A, "b": B}
NAMES = {A: "a", B: "b"}


def test_topics_are_found_by_name_and_by_id() -> None:
    resolved = resolve([TopicReference("a"), TopicReference(None, B)], IDS, NAMES)
    assert resolved.topics == {A: "a", B: "b"}
    assert resolved.refused == []


def test_unknown_topics_are_told_by_how_they_were_named() -> None:
    resolved = resolve(
        [TopicReference("x"), TopicReference(""), TopicReference(None, C)], IDS, NAMES
    )
    unknown = "This server does not host this topic-partition."
    assert resolved.topics == {}
    assert set(resolved.refused) == {
        DeletionResult("x", ZERO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unknown),
        DeletionResult("", ZERO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unknown),
        DeletionResult(
            None, C, ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
        ),
    }


def test_references_that_say_nothing_too_much_or_twice_are_refused() -> None:
    resolved = resolve(
        [
            TopicReference(None),
            TopicReference("a", A),
            TopicReference("b"),
            TopicReference("b"),
            TopicReference(None, C),
            TopicReference(None, C),
        ],
        IDS,
        NAMES,
    )
    invalid = ErrorCode.INVALID_REQUEST
    assert resolved.topics == {}
    assert resolved.refused == [
        DeletionResult(None, ZERO_TOPIC_ID, invalid, "Neither topic name nor id were specified."),
        DeletionResult("a", A, invalid, "You may not specify both topic name and topic id."),
        DeletionResult("b", ZERO_TOPIC_ID, invalid, "Duplicate topic name."),
        DeletionResult(None, C, invalid, "Duplicate topic id."),
    ]


def test_a_topic_given_by_name_and_by_id_is_not_deleted() -> None:
    resolved = resolve([TopicReference("a"), TopicReference(None, A)], IDS, NAMES)
    text = "The provided topic name maps to an ID that was already supplied."
    assert resolved.topics == {}
    assert resolved.refused == [DeletionResult("a", A, ErrorCode.INVALID_REQUEST, text)]
