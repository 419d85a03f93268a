"""DeleteTopics (20): delete topics by name, or from v6 by id.

v1 throttle time, v3 TOPIC_DELETION_DISABLED, v4 flexible, v5 messages and refusal by quota
(KIP-599), v6 topics as structs of name and id (KIP-516).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string, uuid
from protocol.schema.message import Failure, Message, Request, Response


class DeleteTopicState(Message):
    """A topic by its name, or by its id with a null name."""

    name: str | None = string("6+", nullable="6+", default=None)
    topic_id: bytes = uuid("6+")


class DeleteTopicsRequest(Request, api_key=ApiKey.DELETE_TOPICS, versions="1-6", flexible="4+"):
    """The topics to delete, and how long to wait for it."""

    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5")
    timeout_ms: int = int32()

    @property
    def topic_states(self) -> list[DeleteTopicState]:
        """The topics, whichever version named them."""
        return self.topics or [DeleteTopicState(name=name) for name in self.topic_names]

    def refusal(self, failure: Failure) -> "DeleteTopicsResponse":
        """The code for each topic."""
        return DeleteTopicsResponse(
            responses=[
                DeletableTopicResult(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    error_code=failure.code,
                    error_message=failure.message,
                )
                for topic in self.topic_states
            ]
        )


class DeletableTopicResult(Message):
    """What became of one topic."""

    name: str | None = string(nullable="6+")
    topic_id: bytes = uuid("6+")
    error_code: int = int16()
    error_message: str | None = string("5+", nullable="5+", default=None)


class DeleteTopicsResponse(Response, api_key=ApiKey.DELETE_TOPICS, versions="1-6", flexible="4+"):
    """What became of each topic."""

    throttle_time_ms: int = int32("1+")
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
