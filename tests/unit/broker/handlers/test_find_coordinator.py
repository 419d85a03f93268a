"""FindCoordinator: the topic is made, then its leader is told."""

from collections.abc import Sequence

import pytest

from broker.coordinator.partition_of import partition_of
from broker.handlers.find_coordinator import handle_find_coordinator
from cluster.controller.auto_creation import AutoCreation, consumer_offsets
from cluster.controller.topics import NewTopic, TopicResult
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.model import CONSUMER_OFFSETS_TOPIC
from tests.support.replicas import ReplicaBroker, code_of, context_of


class Asking:
    def __init__(self) -> None:
        self.broker = ReplicaBroker()
        self.begun: list[str] = []

        async def create(topics: Sequence[NewTopic]) -> list[TopicResult]:
            return []

        def spawn(name: str, coroutine: object) -> None:
            self.begun.append(name)
            coroutine.close()  # type: ignore[attr-defined]

        self.auto_creation = AutoCreation(
            create,
            spawn,
            lambda: False,
            {CONSUMER_OFFSETS_TOPIC: lambda: consumer_offsets(50, 1, 1 << 20)},
        )

    def ask(self, request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
        return handle_find_coordinator(
            context_of(version),
            request,
            metadata=self.broker.metadata,
            auto_creation=self.auto_creation,
        )


@pytest.mark.parametrize(
    ("version", "message"), [(0, "not available"), (3, "not available"), (6, "")]
)
def test_the_topic_is_made_once_and_meanwhile_nobody_coordinates(
    version: int, message: str
) -> None:
    asking = Asking()
    for _ in range(2):
        answer = asking.ask(FindCoordinatorRequest(key="g", coordinator_keys=["g"]), version)
        one = answer.coordinators[0] if version > 3 else answer
        assert one.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (one.node_id, one.host, one.port) == (-1, "", -1)
        assert message in (one.error_message or "")
    assert asking.begun == ["auto-create-topics"]


def test_the_leader_of_the_keys_partition_is_told() -> None:
    asking = Asking()
    asking.broker.create(CONSUMER_OFFSETS_TOPIC, 4)
    old = asking.ask(FindCoordinatorRequest(key="g"), 1)
    assert (old.error_code, old.error_message, old.node_id) == (0, "NONE", 1)
    assert (old.host, old.port) == ("host1", 9093)
    new = asking.ask(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 4)
    assert [(one.key, one.node_id, one.error_message) for one in new.coordinators] == [
        ("a", 1, ""),
        ("b", 1, ""),
    ]
    assert asking.begun == []


def test_a_partition_without_a_leader_is_not_available() -> None:
    asking = Asking()
    broker = asking.broker
    broker.create(CONSUMER_OFFSETS_TOPIC, 2)
    index = partition_of("g", 2)
    tp = broker.partition(CONSUMER_OFFSETS_TOPIC, index).topic_partition
    broker.tell_metadata([broker.state(tp, leader=-1)])
    answer = asking.ask(FindCoordinatorRequest(key="g"), 0)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_keys_of_share_groups_and_of_nothing_known_are_refused() -> None:
    asking = Asking()
    for key_type in (2, 9):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g"])
        assert code_of(asking.ask, request, 6) is ErrorCode.INVALID_REQUEST
