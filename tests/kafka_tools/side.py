"""One broker in a comparison: its connection, and what it alone made up, such as topic ids."""

import time
from collections.abc import Callable
from typing import NamedTuple

from protocol.api_keys import ApiKey
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.delete_topics import DeleteTopicsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.schema.message import Request, Response
from tests.kafka_tools.talker import NoAnswer, Talker

SETTLE_SECONDS = 20


class Side:
    """What was said to one broker and what it answered."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.talker = Talker(host, port)
        self.topic_ids: dict[str, bytes] = {}
        self.names_by_id: dict[bytes, str] = {}
        self.values: dict[str, int] = {}
        """Numbers it gave out which later requests name: sessions and producers."""
        self._partitions: dict[str, int] = {}

    def ask(self, request: Request, version: int) -> Response | NoAnswer:
        """The answer; when it changed topics, metadata tells the same before this returns."""
        response = self.talker.ask(request, version)
        if self._changes_topics(request, response):
            self.settle()
        return response

    def settle(self) -> None:
        """Wait until metadata has every topic as it should be, with leaders."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            answer = self.talker.ask(MetadataRequest(topics=None), 12)
            assert isinstance(answer, MetadataResponse)
            led = {
                str(topic.name): sum(
                    1 for p in topic.partitions if p.error_code == 0 and p.leader_id >= 0
                )
                for topic in answer.topics
            }
            for topic in answer.topics:
                self.topic_ids[str(topic.name)] = topic.topic_id
                self.names_by_id[topic.topic_id] = str(topic.name)
            if all(led.get(name, 0) == count for name, count in self._partitions.items()):
                return
            assert time.monotonic() < deadline, f"{self.name}: {self._partitions}, but {led}"

    def _changes_topics(self, request: Request, response: Response | NoAnswer) -> bool:
        before = dict(self._partitions)
        if isinstance(response, CreateTopicsResponse):
            assert isinstance(request, CreateTopicsRequest)
            asked = {topic.name: topic for topic in request.topics}
            for result in response.topics:
                if result.error_code == 0 and not request.validate_only:
                    wanted = asked[result.name]
                    count = len(wanted.assignments) or max(wanted.num_partitions, 1)
                    self._partitions[result.name] = count
        elif isinstance(response, CreatePartitionsResponse):
            assert isinstance(request, CreatePartitionsRequest)
            counts = {topic.name: topic.count for topic in request.topics}
            for grown in response.results:
                if grown.error_code == 0 and not request.validate_only:
                    self._partitions[grown.name] = counts[grown.name]
        elif isinstance(response, DeleteTopicsResponse):
            for deleted in response.responses:
                if deleted.error_code == 0:
                    name = deleted.name or self.names_by_id.get(deleted.topic_id, "")
                    self._partitions[name] = 0
        return self._partitions != before


class Step(NamedTuple):
    """One request of the conversation.

    `request` makes it, or a whole frame, for one side; `learn` keeps what the side made up. An
    answer to a step that only reads is asked for again while the brokers still differ: their
    metadata arrives when it arrives.
    """

    name: str
    version: int
    request: Callable[[Side], Request | bytes]
    api_key: ApiKey
    reads: bool = True
    learn: Callable[[Side, Response], None] | None = None
    answered: bool = True


def take(step: Step, side: Side) -> Response | NoAnswer | None:
    """What the side answers to the step; None where no answer is due."""
    request = step.request(side)
    if isinstance(request, bytes):
        side.talker.send(request)
        return side.talker.answer(step.api_key, step.version)
    if not step.answered:
        from protocol.headers import encode_request

        side.talker.send(encode_request(request, step.version, 1, "conformance"))
        return None
    response = side.ask(request, step.version)
    if step.learn is not None and isinstance(response, Response):
        step.learn(side, response)
    return response
