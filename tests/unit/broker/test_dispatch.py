"""Each frame gets Kafka's answer, or ends its connection; bugs stay with their request."""

import asyncio
import gc
import logging
import struct
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.context import (
    CLOSE_CONNECTION,
    NO_RESPONSE,
    HandlerResult,
    Parked,
    Peer,
    RequestContext,
)
from broker.dispatch import Dispatcher, PendingReply
from broker.network.answers import ANSWERED, CLOSE, Answers, Outcome
from broker.request_metrics import RequestMetricsRegistry
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, KafkaError, MalformedFrame
from protocol.headers import encode_request
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.schema.message import Request, Response
from runtime.supervisor import Supervisor
from tests.support.manual_clock import ManualClock
from tests.support.network import Slice, joined

Handle = Callable[[RequestContext, Request], HandlerResult]


class Dispatching:
    """A dispatcher with one handler for everything, and what it was asked and answered."""

    def __init__(self, handle: Handle) -> None:
        self.seen: list[tuple[RequestContext, Request]] = []
        self.clock = ManualClock()
        self.registry = RequestMetricsRegistry()
        self.supervisor = Supervisor(asyncio.get_event_loop_policy().new_event_loop())
        self._loop = self.supervisor._loop
        self.handle = handle
        keys = (ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.VOTE)
        self.dispatcher = Dispatcher(
            dict.fromkeys(keys, self._handle), self.supervisor, self.clock.monotonic, self.registry
        )
        self.answers = Answers()
        self.peer = Peer("PLAINTEXT", "10.1.1.1", "PLAINTEXT-1")

    def _handle(self, context: RequestContext, request: Request) -> HandlerResult:
        self.seen.append((context, request))
        self.clock.advance(5)
        return self.handle(context, request)

    def dispatch(self, data: bytes) -> Outcome | PendingReply:
        self.answers = Answers()
        frame = memoryview(bytearray(data))
        return self.dispatcher.dispatch(frame, self.peer, self.clock.monotonic(), self.answers)

    def ask(self, request: Request, version: int) -> Outcome | PendingReply:
        return self.dispatch(encode_request(request, version, 77, "client")[4:])

    def response(self, kind: type[Response], version: int, tags: bool) -> Response:
        return read(self.answers, kind, version, tags)

    def run(self) -> None:
        """Let tasks run to their end."""
        while len(self.supervisor):
            self._loop.run_until_complete(asyncio.sleep(0))

    def close(self) -> None:
        self._loop.close()


def read(answers: Answers, kind: type[Response], version: int, tags: bool) -> Response:
    data = joined(answers.parts)
    size, correlation_id = struct.unpack_from(">ii", data)
    assert size == len(data) - 4
    assert correlation_id == 77
    return kind.decode(data, version, 9 if tags else 8)


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Callable[[Handle], Dispatching]:
    def of(handle: Handle) -> Dispatching:
        made = Dispatching(handle)
        request.addfinalizer(made.close)
        return made

    return of


Make = Callable[[Handle], Dispatching]


def metadata(*_: object) -> MetadataResponse:
    return MetadataResponse(cluster_id="here")


def test_a_request_reaches_its_handler_and_the_answer_has_size_and_header(make: Make) -> None:
    one = make(metadata)
    assert one.ask(MetadataRequest(topics=None), 8) is ANSWERED
    [(context, request)] = one.seen
    assert isinstance(request, MetadataRequest)
    assert (context.api_version, context.client_id) == (8, "client")
    assert context.header.correlation_id == 77
    assert context.peer is one.peer
    response = one.response(MetadataResponse, 8, tags=False)
    assert isinstance(response, MetadataResponse)
    assert response.cluster_id == "here"


def test_flexible_versions_have_tags_in_the_response_header(make: Make) -> None:
    one = make(metadata)
    assert one.ask(MetadataRequest(topics=None), 12) is ANSWERED
    assert isinstance(one.response(MetadataResponse, 12, tags=True), MetadataResponse)


def test_api_versions_never_has_tags_in_the_response_header(make: Make) -> None:
    one = make(lambda *_: ApiVersionsResponse())
    assert one.ask(ApiVersionsRequest(), 3) is ANSWERED
    assert one.response(ApiVersionsResponse, 3, tags=False) == ApiVersionsResponse()


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_an_unknown_version_of_api_versions_is_answered_in_version_zero(
    make: Make, version: int
) -> None:
    one = make(lambda *_: ApiVersionsResponse())
    tags = b"\0" if version >= 3 else b""
    assert one.dispatch(struct.pack(">hhih", 18, version, 77, -1) + tags + b"whatever") is ANSWERED
    response = one.response(ApiVersionsResponse, 0, tags=False)
    assert isinstance(response, ApiVersionsResponse)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    [told] = response.api_keys
    assert (told.api_key, told.min_version, told.max_version) == (18, 0, 4)
    assert one.seen == []


@pytest.mark.parametrize(
    ("api_key", "version"), [(0, 2), (0, 14), (3, -1), (1, 3), (2, 1), (9999, 0), (-1, 0), (52, 0)]
)
def test_what_is_not_served_closes_the_connection_with_one_line(
    make: Make, api_key: int, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    one = make(metadata)
    with caplog.at_level(logging.WARNING):
        assert one.dispatch(struct.pack(">hhih", api_key, version, 77, -1) + bytes(20)) is CLOSE
    assert one.registry.bad_frames == 1
    [line] = caplog.messages
    assert f"API key {api_key} version {version}" in line
    assert "10.1.1.1" in line
    assert one.answers.parts == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\3\0\x08\0\0\0\x4d\x7f\xff",
        b"\0\3\0\x08\0\0\0\x4d\0\2\xff\xfe",
        struct.pack(">hhih", 3, 8, 77, -1) + b"\x7f\xff\xff\xff",
        struct.pack(">hhih", 3, 8, 77, -1) + bytes(6),
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_close_the_connection_with_one_line(
    make: Make, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    one = make(metadata)
    with caplog.at_level(logging.WARNING):
        assert one.dispatch(data) is CLOSE
    assert one.registry.bad_frames == 1
    assert len(caplog.messages) == 1
    assert one.seen == []


@given(data=st.binary(max_size=200), key=st.sampled_from([0, 1, 3, 18]), version=st.integers(0, 18))
def test_no_bytes_get_anything_but_an_answer_or_a_close(
    data: bytes, key: int, version: int
) -> None:
    one = Dispatching(lambda *_: NO_RESPONSE)
    try:
        header = struct.pack(">hhih", key, version, 77, -1)
        assert one.dispatch(header + data) in (ANSWERED, CLOSE)
        assert one.dispatch(data) in (ANSWERED, CLOSE)
    finally:
        one.close()


def test_a_kafka_error_becomes_the_answer_of_its_api(make: Make) -> None:
    def refuse(*_: object) -> HandlerResult:
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    one = make(refuse)
    assert one.ask(ApiVersionsRequest(), 0) is ANSWERED
    response = one.response(ApiVersionsResponse, 0, tags=False)
    assert response == ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert one.registry.of("ApiVersions").errors == {31: 1}
    assert one.registry.failures == 0


def test_anything_else_is_logged_counted_and_answered_as_a_server_error(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> HandlerResult:
        raise ZeroDivisionError("a bug")

    one = make(fail)
    with caplog.at_level(logging.ERROR):
        assert one.ask(ApiVersionsRequest(), 0) is ANSWERED
    response = one.response(ApiVersionsResponse, 0, tags=False)
    assert response == ApiVersionsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert one.registry.failures == 1
    assert "correlation id 77 client id 'client'" in caplog.text
    assert "a bug" in caplog.text


def test_an_answer_that_cannot_be_encoded_is_a_server_error_too(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    one = make(lambda *_: ApiVersionsResponse(error_code=1 << 40))
    with caplog.at_level(logging.ERROR):
        assert one.ask(ApiVersionsRequest(), 0) is ANSWERED
    response = one.response(ApiVersionsResponse, 0, tags=False)
    assert response == ApiVersionsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


def produce(acks: int) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=memoryview(b"batch"))]
    return ProduceRequest(
        acks=acks, topic_data=[TopicProduceData(name="topic", partition_data=data)]
    )


def test_an_error_where_no_answer_is_wanted_closes_the_connection(make: Make) -> None:
    def refuse(*_: object) -> HandlerResult:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    one = make(refuse)
    assert one.ask(produce(acks=0), 9) is CLOSE
    assert one.ask(produce(acks=1), 9) is ANSWERED


def test_handlers_may_answer_nothing_or_close(make: Make) -> None:
    one = make(lambda *_: NO_RESPONSE)
    assert one.ask(produce(acks=0), 9) is ANSWERED
    assert one.answers.parts == []
    assert len(one.answers.ledger) == 1
    one.handle = lambda *_: CLOSE_CONNECTION
    assert one.ask(produce(acks=0), 9) is CLOSE


def test_records_are_writable_views_of_the_frame(make: Make) -> None:
    one = make(lambda *_: ProduceResponse())
    frame = memoryview(bytearray(encode_request(produce(acks=1), 9, 77, None)[4:]))
    assert one.dispatcher.dispatch(frame, one.peer, 0.0, one.answers) is ANSWERED
    request = one.seen[0][1]
    assert isinstance(request, ProduceRequest)
    records = request.topic_data[0].partition_data[0].records
    assert records is not None
    records[:] = b"BATCH"
    assert b"BATCH" in bytes(frame)


def test_slices_of_files_become_parts_behind_their_size(make: Make) -> None:
    large = Slice(bytes(100_000))
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic="topic", partitions=[PartitionData(partition_index=0, records=large)]
            )
        ]
    )
    one = make(lambda *_: response)
    assert one.ask(FetchRequest(), 4) is ANSWERED
    assert one.answers.has_slices
    assert large in one.answers.parts
    head = one.answers.parts[0]
    assert isinstance(head, bytes)
    assert struct.unpack(">i", head)[0] == one.answers.nbytes - 4
    one.answers.discard()
    assert large.released == 1


def test_a_parked_request_is_answered_when_its_holder_says(make: Make) -> None:
    parked = Parked()
    one = make(lambda *_: parked)
    pending = one.ask(ApiVersionsRequest(), 0)
    assert isinstance(pending, PendingReply)
    delivered: list[Answers | None] = []
    pending.attach(delivered.append)
    assert delivered == []
    one.clock.advance(100)
    parked.complete(ApiVersionsResponse(throttle_time_ms=1))
    [answers] = delivered
    assert answers is not None
    assert isinstance(read(answers, ApiVersionsResponse, 0, tags=False), ApiVersionsResponse)
    [(metrics, (received, started, handled, completed, nbytes))] = answers.ledger
    assert metrics is one.registry.of("ApiVersions")
    assert (received, started) == (1000.0, 1000.0)
    assert handled == pytest.approx(1000.005)
    assert completed == pytest.approx(1000.105)
    assert nbytes == answers.nbytes


def test_a_request_parked_and_completed_at_once_is_answered_at_once(make: Make) -> None:
    parked = Parked()
    parked.complete(ApiVersionsResponse())
    one = make(lambda *_: parked)
    assert one.ask(ApiVersionsRequest(), 0) is ANSWERED
    assert one.answers.parts


def test_a_parked_request_may_fail_or_close(make: Make) -> None:
    for result, code in (
        (KafkaError(ErrorCode.REQUEST_TIMED_OUT), ErrorCode.REQUEST_TIMED_OUT),
        (ValueError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ):
        parked = Parked()
        one = make(lambda *_, parked=parked: parked)
        pending = one.ask(ApiVersionsRequest(), 0)
        assert isinstance(pending, PendingReply)
        delivered: list[Answers | None] = []
        pending.attach(delivered.append)
        parked.fail(result)
        [answers] = delivered
        assert answers is not None
        response = read(answers, ApiVersionsResponse, 0, tags=False)
        assert response == ApiVersionsResponse(error_code=code)
    parked = Parked()
    one = make(lambda *_: parked)
    pending = one.ask(ApiVersionsRequest(), 0)
    assert isinstance(pending, PendingReply)
    delivered = []
    pending.attach(delivered.append)
    parked.complete(CLOSE_CONNECTION)
    assert delivered == [None]


def test_abandoning_reaches_the_holder(make: Make) -> None:
    calls: list[str] = []
    parked = Parked(on_abandon=lambda: calls.append("abandoned"))
    one = make(lambda *_: parked)
    pending = one.ask(ApiVersionsRequest(), 0)
    assert isinstance(pending, PendingReply)
    pending.attach(lambda _: None)
    pending.abandon()
    assert calls == ["abandoned"]


def test_a_late_answer_from_a_short_file_closes_and_releases(make: Make) -> None:
    parked = Parked()
    one = make(lambda *_: parked)
    pending = one.ask(FetchRequest(), 4)
    assert isinstance(pending, PendingReply)
    delivered: list[Answers | None] = []
    pending.attach(delivered.append)
    large, short = Slice(bytes(20_000)), Slice(b"x", promised=2)
    partitions = [
        PartitionData(partition_index=0, records=large),
        PartitionData(partition_index=1, records=short),
    ]
    parked.complete(
        FetchResponse(responses=[FetchableTopicResponse(topic="topic", partitions=partitions)])
    )
    assert delivered == [None]
    assert (large.released, short.released) == (1, 1)


@pytest.mark.parametrize("fails", [False, True])
def test_an_asynchronous_handler_is_run_as_a_task(make: Make, fails: bool) -> None:
    async def work() -> ApiVersionsResponse:
        await asyncio.sleep(0)
        if fails:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        return ApiVersionsResponse()

    one = make(lambda *_: work())
    pending = one.ask(ApiVersionsRequest(), 0)
    assert isinstance(pending, PendingReply)
    delivered: list[Answers | None] = []
    pending.attach(delivered.append)
    pending.abandon()
    one.run()
    [answers] = delivered
    assert answers is not None
    code = ErrorCode.NOT_CONTROLLER if fails else ErrorCode.NONE
    response = read(answers, ApiVersionsResponse, 0, tags=False)
    assert response == ApiVersionsResponse(error_code=code)
    assert one.supervisor.failures == 0


def test_a_task_that_is_cancelled_closes_its_connection(make: Make) -> None:
    async def work() -> ApiVersionsResponse:
        await asyncio.Event().wait()
        return ApiVersionsResponse()

    one = make(lambda *_: work())
    pending = one.ask(ApiVersionsRequest(), 0)
    assert isinstance(pending, PendingReply)
    delivered: list[Answers | None] = []
    pending.attach(delivered.append)
    one._loop.run_until_complete(one.supervisor.stop(5))
    one._loop.run_until_complete(asyncio.sleep(0))
    assert delivered == [None]


def test_requests_errors_and_times_are_counted(make: Make) -> None:
    one = make(lambda *_: ApiVersionsResponse())
    one.ask(ApiVersionsRequest(), 0)
    one.ask(ApiVersionsRequest(), 0)
    one.ask(ApiVersionsRequest(), 2)
    metrics = one.registry.of("ApiVersions")
    assert metrics.versions == {0: 2, 2: 1}
    assert metrics.errors == {0: 3}
    assert metrics.request_bytes == 3 * 16
    [(_, (received, started, handled, completed, _))] = one.answers.ledger
    assert received == started
    assert handled == completed
    assert handled - started == pytest.approx(0.005)


def test_a_malformed_frame_found_by_a_handler_is_answered_as_a_bug(make: Make) -> None:
    def find(*_: object) -> HandlerResult:
        raise MalformedFrame("in the records")

    one = make(find)
    assert one.ask(ApiVersionsRequest(), 0) is ANSWERED


class Heavy:
    """Stands for what a handler had in its hands when it failed."""


def test_what_a_refused_request_held_is_free_without_the_collector(make: Make) -> None:
    held: list[weakref.ref[Heavy]] = []

    def refuse(context: RequestContext, request: Request) -> HandlerResult:
        heavy = Heavy()
        held.append(weakref.ref(heavy))
        raise KafkaError(ErrorCode.INVALID_REQUEST)

    dispatching = make(refuse)
    gc.disable()
    try:
        assert dispatching.ask(MetadataRequest(topics=[]), 9) is ANSWERED
        assert held[0]() is None
    finally:
        gc.enable()
