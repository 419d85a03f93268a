"""A parked reply is given once, and told whether early, late or unwanted."""

import pytest

from broker.context import (
    ANONYMOUS,
    CLOSE_CONNECTION,
    NO_RESPONSE,
    Parked,
    Peer,
    Reply,
    RequestContext,
)
from protocol.headers import RequestHeader
from protocol.messages.api_versions import ApiVersionsResponse


def test_a_context_tells_the_request_and_who_sent_it() -> None:
    peer = Peer("PLAINTEXT", "10.0.0.1", "PLAINTEXT-7")
    context = RequestContext(RequestHeader(18, 3, 5, "me", 10), peer, 12.5)
    assert (context.api_version, context.client_id) == (3, "me")
    assert (context.listener_name, context.client_host) == ("PLAINTEXT", "10.0.0.1")
    assert (context.connection_id, context.principal) == ("PLAINTEXT-7", ANONYMOUS)
    assert context.received_at == 12.5


def test_a_reply_after_attaching_is_told_at_once() -> None:
    told: list[Reply | Exception] = []
    parked = Parked()
    parked.attach(told.append)
    response = ApiVersionsResponse()
    parked.complete(response)
    assert told == [response]
    assert parked.result is response


def test_a_reply_before_attaching_is_told_when_attaching() -> None:
    told: list[Reply | Exception] = []
    parked = Parked()
    parked.complete(None)
    parked.attach(told.append)
    assert told == [NO_RESPONSE]


def test_a_reply_may_be_a_failure_or_the_end_of_the_connection() -> None:
    told: list[Reply | Exception] = []
    failed, closed = Parked(), Parked()
    failed.attach(told.append)
    closed.attach(told.append)
    error = ValueError("broken")
    failed.fail(error)
    closed.complete(CLOSE_CONNECTION)
    assert told == [error, CLOSE_CONNECTION]


def test_a_reply_is_given_once_and_received_once() -> None:
    parked = Parked()
    parked.complete(None)
    with pytest.raises(AssertionError):
        parked.complete(None)
    parked.attach(lambda _: None)
    with pytest.raises(AssertionError):
        parked.attach(lambda _: None)


def test_abandoning_tells_the_holder_once_and_a_reply_may_still_come() -> None:
    calls: list[str] = []
    told: list[Reply | Exception] = []
    parked = Parked(on_abandon=lambda: calls.append("abandoned"))
    parked.attach(told.append)
    parked.abandon()
    parked.abandon()
    assert calls == ["abandoned"]
    assert parked.abandoned
    parked.complete(None)
    assert told == [NO_RESPONSE]


def test_a_given_reply_cannot_be_abandoned() -> None:
    calls: list[str] = []
    parked = Parked(on_abandon=lambda: calls.append("abandoned"))
    parked.complete(None)
    parked.abandon()
    assert calls == []
    assert not parked.abandoned


def test_nobody_needs_to_care_about_being_abandoned() -> None:
    parked = Parked()
    parked.abandon()
    assert parked.abandoned


def test_whom_a_closed_connection_concerns_is_told_once() -> None:
    calls: list[str] = []
    peer = Peer("PLAINTEXT", "127.0.0.1", "c1", 40000)
    peer.gone()
    peer.when_gone(lambda: calls.append("a"))
    peer.when_gone(lambda: calls.append("b"))
    peer.gone()
    peer.gone()
    assert calls == ["a", "b"]
