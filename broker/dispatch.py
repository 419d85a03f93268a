"""From a frame to its answer: header, version, body, handler, encoding, and the books of it.

    frame ─ header ─ route (API, version) ─ body ─ handler ─┬─ response ── encoded ── answers
              │            │                 │              ├─ parked or awaitable ── later
              └────────────┴─────────────────┴── CLOSE      └─ KafkaError ── the API's error answer

Bytes that are not Kafka's, and APIs or versions not served, close the connection, for nothing can
be said that such a client understands; ApiVersions alone answers unknown versions, with version 0
(KIP-511). Whatever else a handler raises is a bug: logged with the header, counted, answered
UNKNOWN_SERVER_ERROR.

A frame's bytes, and so the records views of its request, are valid until `dispatch` returns. Only
a frame larger than the shared receive buffer owns its bytes: a handler may answer such a request
later and use the views until then.
Source: Kafka's `RequestChannel`, `KafkaApis.handle` and `RequestContext`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from struct import Struct
from typing import Any, TypeAlias

from broker.context import (
    CLOSE_CONNECTION,
    HandlerResult,
    Parked,
    Peer,
    Reply,
    RequestContext,
    Verdict,
)
from broker.error_counts import ErrorCounter, error_counter
from broker.handlers.api_versions import unknown_version_response
from broker.network.answers import ANSWERED, CLOSE, Answers, Outcome
from broker.network.transmission import BrokenAnswer, Part
from broker.request_metrics import RequestMetrics, RequestMetricsRegistry
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, KafkaError, MalformedFrame
from protocol.headers import RequestHeader, decode_request_header, response_header_prefix
from protocol.schema.message import RESPONSES, Request, Response, request_type
from runtime.logs import Occasional
from runtime.supervisor import Supervisor

_logger = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[RequestContext, Any], HandlerResult]

_CORRELATION_ID = Struct(">i")
_FAILED = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


class _Route:
    """One API in one version."""

    __slots__ = (
        "count_errors",
        "handle",
        "header_tail",
        "metrics",
        "request_type",
        "version",
    )

    def __init__(
        self, request: type[Request], version: int, handle: Handler, metrics: RequestMetrics
    ) -> None:
        self.request_type = request
        self.version = version
        self.handle = handle
        self.metrics = metrics
        self.header_tail = response_header_prefix(request.api_key, version, 0)[4:]
        self.count_errors: ErrorCounter = error_counter(RESPONSES[request.api_key])


class _Call:
    """One request between its handler and its answer."""

    __slots__ = ("handled", "header", "peer", "received", "request", "route", "started")

    def __init__(
        self,
        route: _Route,
        context: RequestContext,
        request: Request,
        started: float,
        handled: float,
    ) -> None:
        self.route = route
        self.header = context.header
        self.peer = context.peer
        self.request = request
        self.received = context.received_at
        self.started = started
        self.handled = handled


class Dispatcher:
    """Finds and calls the handler of each frame."""

    __slots__ = ("_handlers", "_log", "_monotonic", "_routes", "_supervisor", "metrics")

    def __init__(
        self,
        handlers: Mapping[ApiKey, Handler],
        supervisor: Supervisor,
        monotonic: Callable[[], float],
        metrics: RequestMetricsRegistry,
    ) -> None:
        self._handlers = handlers
        self._supervisor = supervisor
        self._monotonic = monotonic
        self._log = Occasional(_logger, monotonic)
        self._routes: dict[tuple[int, ...], _Route] = {}
        self.metrics = metrics

    def dispatch(
        self, frame: memoryview, peer: Peer, received_at: float, answers: Answers
    ) -> "Outcome | PendingReply":
        """Handle one frame. Raises BrokenAnswer when a file does not hold what it promised."""
        started = self._monotonic()
        header = None
        try:
            header = decode_request_header(frame)
            route = self._routes.get(header[:2]) or self._find_route(header)
            if route is None:
                return self._unserved(header, peer, answers)
            request = route.request_type.decode(frame, route.version, header.body_offset)
        except MalformedFrame as error:
            return self._refuse(header, peer, f"{len(frame)} bytes that are no request: {error}")
        metrics = route.metrics
        metrics.versions[route.version] += 1
        metrics.request_bytes += len(frame)
        context = RequestContext(header, peer, received_at)
        result: HandlerResult
        try:
            result = route.handle(context, request)
            if isinstance(result, Response):
                parts = self._encode(route, header, result)
                handled = self._monotonic()
                nbytes = answers.add(parts)
                answers.ledger.append((metrics, (received_at, started, handled, handled, nbytes)))
                return ANSWERED
        except BrokenAnswer:
            raise
        except Exception as error:
            # No name of this frame may keep the error: its traceback has the frame, and together
            # they would hold the request's bytes until the garbage collector comes by.
            call = _Call(route, context, request, started, self._monotonic())
            return self.answer(call, error, call.handled, answers)
        call = _Call(route, context, request, started, self._monotonic())
        return self._other_result(call, result, answers)

    def answer(
        self, call: _Call, result: Reply | Exception, completed: float, answers: Answers
    ) -> Outcome:
        """Put in `answers` what a request came to. Raises BrokenAnswer."""
        response: Response | None = None
        nbytes = 0
        if result is CLOSE_CONNECTION:
            return CLOSE
        if isinstance(result, Exception):
            response = self._error_response(call, result)
            if response is None:
                return CLOSE
        elif isinstance(result, Response):
            response = result
        if response is not None:
            try:
                nbytes = answers.add(self._encode(call.route, call.header, response))
            except BrokenAnswer:
                raise
            except Exception as error:
                if isinstance(result, Exception):
                    raise
                return self.answer(call, error, completed, answers)
        answers.ledger.append(
            (call.route.metrics, (call.received, call.started, call.handled, completed, nbytes))
        )
        return ANSWERED

    def _other_result(
        self, call: _Call, result: HandlerResult, answers: Answers
    ) -> "Outcome | PendingReply":
        if isinstance(result, Parked):
            reply = result.result
            if reply is None:
                return PendingReply(self, call, result)
            return self.answer(call, reply, call.handled, answers)
        if isinstance(result, (Response, Verdict)):
            return self.answer(call, result, call.handled, answers)
        return PendingReply(self, call, result)

    def _encode(self, route: _Route, header: RequestHeader, response: Response) -> list[Part]:
        prefix = _CORRELATION_ID.pack(header.correlation_id) + route.header_tail
        parts: list[Part] = response.encode_parts(route.version, prefix)  # type: ignore[assignment]
        route.count_errors(response, route.metrics.errors)
        return parts

    def _error_response(self, call: _Call, error: Exception) -> Response | None:
        """The API's own answer that says it failed; None where it has none."""
        if not isinstance(error, KafkaError):
            self.metrics.failures += 1
            _logger.error(
                "Failed to handle %s from %s: %r",
                _described(call.header),
                call.peer.connection_id,
                error,
                exc_info=error,
            )
            error = _FAILED
        return call.request.error_response(call.route.version, error.code, error.message)

    def _find_route(self, header: RequestHeader) -> _Route | None:
        request = request_type(header.api_key)
        if request is None or header.api_version not in request.valid_versions:
            return None
        handle = self._handlers.get(request.api_key)
        if handle is None:
            return None
        metrics = self.metrics.of(request.__name__.removesuffix("Request"))
        route = _Route(request, header.api_version, handle, metrics)
        self._routes[header[:2]] = route
        return route

    def _unserved(self, header: RequestHeader, peer: Peer, answers: Answers) -> Outcome:
        if header.api_key == ApiKey.API_VERSIONS and ApiKey.API_VERSIONS in self._handlers:
            prefix = _CORRELATION_ID.pack(header.correlation_id)
            answers.add([prefix + unknown_version_response().encode(0)])
            return ANSWERED
        return self._refuse(header, peer, "API or version not served")

    def _refuse(self, header: RequestHeader | None, peer: Peer, reason: str) -> Outcome:
        self.metrics.bad_frames += 1
        self._log.warning(
            "Closing connection %s from %s: %s (%s)",
            peer.connection_id,
            peer.client_host,
            reason,
            "no header" if header is None else _described(header),
        )
        return CLOSE

    def spawn(
        self, call: _Call, coroutine: Coroutine[Any, Any, Reply | Exception]
    ) -> "asyncio.Task[Reply | Exception]":
        """Run what an asynchronous handler returned."""
        return self._supervisor.spawn(_described(call.header), coroutine)

    def late_answers(self, call: _Call, result: Reply | Exception) -> Answers | None:
        """What to send for a reply that came later; None to close the connection."""
        answers = Answers()
        try:
            if self.answer(call, result, self._monotonic(), answers) is ANSWERED:
                return answers
        except Exception as error:
            self.metrics.failures += 1
            self._log.warning("No answer to %s: %s", _described(call.header), error)
        answers.discard()
        return None


class PendingReply:
    """A request whose answer comes later: parked by its handler, or in a task of its own."""

    __slots__ = ("_call", "_deliver", "_dispatcher", "_source")

    def __init__(
        self, dispatcher: Dispatcher, call: _Call, source: Parked | Awaitable[Reply]
    ) -> None:
        self._dispatcher = dispatcher
        self._call = call
        self._source = source
        self._deliver: Callable[[Answers | None], None] | None = None

    def attach(self, deliver: Callable[[Answers | None], None]) -> None:
        """Have the answer told to `deliver` once it is there."""
        self._deliver = deliver
        source = self._source
        if isinstance(source, Parked):
            source.attach(self._completed)
        else:
            task = self._dispatcher.spawn(self._call, _outcome(source))
            task.add_done_callback(self._task_ended)

    def abandon(self) -> None:
        """Tell a parked handler that nobody waits; a task goes on, its changes are wanted."""
        if isinstance(self._source, Parked):
            self._source.abandon()

    def _completed(self, result: Reply | Exception) -> None:
        assert self._deliver is not None
        self._deliver(self._dispatcher.late_answers(self._call, result))

    def _task_ended(self, task: "asyncio.Task[Reply | Exception]") -> None:
        self._completed(CLOSE_CONNECTION if task.cancelled() else task.result())


async def _outcome(source: Awaitable[Reply]) -> Reply | Exception:
    try:
        return await source
    except Exception as error:
        return error


def _described(header: RequestHeader) -> str:
    return (
        f"API key {header.api_key} version {header.api_version}"
        f" correlation id {header.correlation_id} client id {header.client_id!r}"
    )
