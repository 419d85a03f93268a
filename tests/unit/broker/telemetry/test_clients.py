"""Clients that push: what they are asked for, when they may speak, and when they are forgotten."""

import pytest

from broker.telemetry import clients as module
from broker.telemetry.clients import Client
from protocol.errors import ErrorCode, KafkaError
from protocol.model import METADATA_TOPIC_ID, ZERO_TOPIC_ID
from tests.support.telemetry import ID, Telemetry, context, push

MINUTE = 60_000
START = 1_000


def asking(**configs: str) -> Telemetry:
    telemetry = Telemetry()
    telemetry.configs.set("s", {"metrics": "a.", "interval.ms": str(MINUTE), **configs})
    return telemetry


def code_of_push(
    telemetry: Telemetry,
    now_ms: int,
    subscription_id: int,
    data: bytes = b"",
    *,
    terminating: bool = False,
    codec: int = 0,
) -> int:
    request = push(subscription_id, data, terminating=terminating, codec=codec)
    try:
        telemetry.clients.admit(request, context(), now_ms)
    except KafkaError as error:
        return error.code
    return 0


def subscribe(telemetry: Telemetry, now_ms: int, instance_id: bytes = ID) -> Client:
    return telemetry.clients.subscribe(instance_id, context(), now_ms)


def throttled(telemetry: Telemetry, now_ms: int) -> bool:
    try:
        subscribe(telemetry, now_ms)
    except KafkaError as error:
        return error.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    return False


def test_a_client_without_a_name_is_given_one() -> None:
    telemetry = asking()
    one = subscribe(telemetry, START, ZERO_TOPIC_ID)
    two = subscribe(telemetry, START, ZERO_TOPIC_ID)
    assert one.instance_id != two.instance_id
    assert len(telemetry.clients) == 2
    assert subscribe(telemetry, START).instance_id == ID


def test_nobody_is_asked_for_anything_until_somebody_wants_it() -> None:
    client = subscribe(Telemetry(), START)
    assert (client.asked.metrics, client.asked.interval_ms) == ((), 300_000)


@pytest.mark.parametrize(
    ("match", "is_asked"),
    [
        ("client_id=app-.*", True),
        ("client_id=other", False),
        ("client_software_name=librdkafka,client_software_version=2[.]0", True),
        ("client_source_address=10[.]0[.]0[.]7,client_source_port=40000", True),
        ("client_instance_id=AAECAwQFBgcICQoLDA0ODw", True),
    ],
)
def test_every_selector_is_known(match: str, is_asked: bool) -> None:
    assert bool(subscribe(asking(match=match), START).asked.metrics) == is_asked


def test_what_a_client_does_not_say_or_says_at_length_is_matched_by_nothing() -> None:
    telemetry = asking(match="client_id=.*")
    for number, client_id in enumerate((None, "x" * 1001, "")):
        asked = telemetry.clients.subscribe(bytes([number] * 16), context(client_id), START).asked
        assert bool(asked.metrics) == (client_id == ""), client_id


def test_a_second_get_waits_for_the_interval_or_for_other_subscriptions() -> None:
    telemetry = asking()
    assert not throttled(telemetry, START)
    assert throttled(telemetry, START + MINUTE - 1)
    assert telemetry.clients.meters.throttled == 1
    assert not throttled(telemetry, START + MINUTE)
    telemetry.configs.set("s", {"metrics": "b.", "interval.ms": str(MINUTE)})
    assert subscribe(telemetry, START + MINUTE + 1).asked.metrics == ("b.",)
    telemetry.configs.set("s", {})
    assert subscribe(telemetry, START + MINUTE + 2).asked.metrics == ()


def test_a_push_comes_at_once_after_a_get_and_then_every_interval() -> None:
    telemetry = asking()
    number = subscribe(telemetry, START).asked.subscription_id
    assert code_of_push(telemetry, START + 1, number) == 0
    assert code_of_push(telemetry, START + MINUTE, number) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code_of_push(telemetry, START + MINUTE + 1, number) == 0
    assert throttled(telemetry, START + MINUTE + 2)


def test_a_client_of_another_broker_is_met_with_its_first_push() -> None:
    telemetry = asking()
    number = subscribe(asking(), START).asked.subscription_id
    assert code_of_push(telemetry, START, number) == 0
    assert len(telemetry.clients) == 1


def test_the_last_push_comes_at_any_time_and_nothing_after_it() -> None:
    telemetry = asking()
    number = subscribe(telemetry, START).asked.subscription_id
    assert code_of_push(telemetry, START + 1, number) == 0
    assert code_of_push(telemetry, START + 2, number, terminating=True) == 0
    for terminating in (True, False, False):
        code = code_of_push(telemetry, START + 5 * MINUTE, number, terminating=terminating)
        assert code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("instance_id", [ZERO_TOPIC_ID, METADATA_TOPIC_ID])
def test_nobody_pushes_under_a_reserved_name(instance_id: bytes) -> None:
    with pytest.raises(KafkaError) as refused:
        Telemetry().clients.admit(push(0, instance_id=instance_id), context(), START)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_the_checks_of_a_push_come_in_kafkas_order() -> None:
    telemetry = asking()
    number = subscribe(telemetry, START).asked.subscription_id
    at, long = START, b"x" * 1001
    for code, subscription_id, codec in (
        (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, number + 1, 9),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, number, 9),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, number, -1),
        (ErrorCode.TELEMETRY_TOO_LARGE, number, 4),
    ):
        at += MINUTE
        assert code_of_push(telemetry, at, subscription_id, long, codec=codec) == code
        again = code_of_push(telemetry, at + 1, subscription_id, long, codec=codec)
        assert again == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code_of_push(telemetry, at + MINUTE, number, b"x" * 1000, codec=4) == 0
    assert telemetry.clients.meters.unknown_subscriptions == 1


@pytest.mark.parametrize(("off", "codec"), [(1, 0), (0, 9)])
def test_who_pushed_for_the_wrong_subscription_or_codec_may_ask_again_at_once(
    off: int, codec: int
) -> None:
    telemetry = asking()
    number = subscribe(telemetry, START).asked.subscription_id
    assert code_of_push(telemetry, START + 1, number + off, codec=codec) in (117, 76)
    assert not throttled(telemetry, START + 2)
    assert throttled(telemetry, START + 3)


def test_a_client_goes_with_the_connection_it_spoke_on_last() -> None:
    telemetry = asking()
    first, second = context(connection="c1"), context(connection="c2")
    telemetry.clients.subscribe(ID, first, START)
    telemetry.clients.subscribe(ID, second, START + MINUTE)
    first.peer.gone()
    assert len(telemetry.clients) == 1
    second.peer.gone()
    assert len(telemetry.clients) == 0
    telemetry.clients.subscribe(ID, first, START + MINUTE + 1)
    telemetry.clients.expire(START + 10 * MINUTE)
    first.peer.gone()
    assert len(telemetry.clients) == 0


def test_the_silent_are_forgotten_after_three_intervals_and_no_sooner_than_a_minute() -> None:
    for interval_ms, life_ms in ((MINUTE, 3 * MINUTE), (100, MINUTE)):
        telemetry = asking(**{"interval.ms": str(interval_ms)})
        subscribe(telemetry, START)
        telemetry.clients.expire(START + life_ms - 1)
        assert len(telemetry.clients) == 1
        telemetry.clients.expire(START + life_ms)
        assert len(telemetry.clients) == 0


def test_who_was_not_heard_of_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLIENTS", 2)
    telemetry = asking()
    for number in (1, 2):
        subscribe(telemetry, START, bytes([number] * 16))
    number = subscribe(telemetry, START + MINUTE, b"\x01" * 16).asked.subscription_id
    subscribe(telemetry, START + MINUTE, b"\x03" * 16)
    assert len(telemetry.clients) == 2
    request = push(number, instance_id=b"\x01" * 16)
    telemetry.clients.admit(request, context(), START + MINUTE + 1)
    with pytest.raises(KafkaError):  # Known still: it may not push twice.
        telemetry.clients.admit(request, context(), START + MINUTE + 2)


def test_a_subscription_of_a_later_version_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = asking()
    telemetry.configs.set("later", {"metrics": "b.", "tags": "x"})
    telemetry.configs.set("odd", {"metrics": "c.", "match": "client_id=("})
    assert subscribe(telemetry, START).asked.metrics == ("a.",)
    assert "later" in caplog.text
    assert "odd" in caplog.text


def test_what_is_known_of_a_client_goes_before_what_it_says_of_itself() -> None:
    client = subscribe(asking(), START)
    info = client.info({"client_id": "forged", "group.id": "g"})
    assert (info["client_id"], info["group_id"]) == ("app-1", "g")
    assert info["client_software_name"] == "librdkafka"
    assert client.labels == {"client_id": "app-1", "client_instance_id": "AAECAwQFBgcICQoLDA0ODw"}
