"""Which topics a DeleteTopics request means (ControllerApis.deleteTopics of Kafka 4.3).

Topics come by name, by id, or wrongly by both or neither. What was named twice is not deleted at
all, and neither is a topic that was given by its name and by its id.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID


class TopicReference(NamedTuple):
    """A topic as a client names it: by name, or with name None by id."""

    name: str | None
    topic_id: bytes = ZERO_TOPIC_ID


class DeletionResult(NamedTuple):
    """What a client is told of one topic; a success carries name and id."""

    name: str | None
    topic_id: bytes = ZERO_TOPIC_ID
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class Resolved(NamedTuple):
    """Topics to delete by id with their names, and the answers for all others."""

    topics: dict[bytes, str]
    refused: list[DeletionResult]


def resolve(
    references: Sequence[TopicReference],
    ids_by_name: Mapping[str, bytes],
    names_by_id: Mapping[bytes, str],
) -> Resolved:
    """Find the topics meant; the two maps say the same of all topics that exist."""
    names, ids, refused = _once_each(references)
    topics: dict[bytes, str] = {}
    for topic_id in ids:
        known = names_by_id.get(topic_id)
        if known is None:
            refused.append(_by_code(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            topics[topic_id] = known
    for name in names:
        found = ids_by_name.get(name)
        if found is None:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_by_code(name, ZERO_TOPIC_ID, error))
        elif found in topics:
            del topics[found]
            text = "The provided topic name maps to an ID that was already supplied."
            refused.append(DeletionResult(name, found, ErrorCode.INVALID_REQUEST, text))
        else:
            topics[found] = name
    return Resolved(topics, refused)


def _once_each(
    references: Sequence[TopicReference],
) -> tuple[list[str], list[bytes], list[DeletionResult]]:
    names: dict[str, int] = {}
    ids: dict[bytes, int] = {}
    refused = []
    for name, topic_id in references:
        if name is None and topic_id == ZERO_TOPIC_ID:
            refused.append(_invalid(None, topic_id, "Neither topic name nor id were specified."))
        elif name is None:
            ids[topic_id] = ids.get(topic_id, 0) + 1
        elif topic_id == ZERO_TOPIC_ID:
            names[name] = names.get(name, 0) + 1
        else:
            text = "You may not specify both topic name and topic id."
            refused.append(_invalid(name, topic_id, text))
    for name, count in names.items():
        if count > 1:
            refused.append(_invalid(name, ZERO_TOPIC_ID, "Duplicate topic name."))
    for topic_id, count in ids.items():
        if count > 1:
            refused.append(_invalid(None, topic_id, "Duplicate topic id."))
    return (
        [name for name, count in names.items() if count == 1],
        [topic_id for topic_id, count in ids.items() if count == 1],
        refused,
    )


def _invalid(name: str | None, topic_id: bytes, text: str) -> DeletionResult:
    return DeletionResult(name, topic_id, ErrorCode.INVALID_REQUEST, text)


def _by_code(name: str | None, topic_id: bytes, error: ErrorCode) -> DeletionResult:
    return DeletionResult(name, topic_id, error, error.text)
