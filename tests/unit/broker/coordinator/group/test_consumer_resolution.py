"""Expressions of consumer groups: when they are resolved, and what follows."""

import pytest

from broker.coordinator.group import consumer_resolution
from protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerTable


def test_an_expression_stands_for_nothing_until_it_is_resolved() -> None:
    groups = ConsumerTable(t=1, u=1)
    assert groups.come("A", None, subscribed_topic_regex="t.*") == "1:"
    assert groups.written() == ["5 A", "8 A member_epoch 1 previous_member_epoch 0 state 0"]
    groups.advance(0)
    assert groups.written() == ["16 t.*", "3 epoch 2"]
    assert groups.beat("A") == "2: t0"


def test_names_and_an_expression_add_up() -> None:
    groups = ConsumerTable(t=1, u=1)
    assert groups.come("A", ["u"], subscribed_topic_regex="t") == "2: u0"
    groups.advance(1000)
    assert groups.beat("A") == "3: t0 u0"
    groups.advance(1000)
    assert groups.beat("A", subscribed_topic_regex="") == "3: u0"
    assert groups.beat("A", ["u0"]) == "4"
    assert groups.group().regexes == {}


def test_an_expression_that_matches_nothing_bumps_nothing() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", None, subscribed_topic_regex="x")
    groups.advance(0)
    assert groups.group().epoch == 1
    assert groups.group().regexes["x"].topics == frozenset()


def test_a_text_in_use_is_shared_at_once() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A", None, subscribed_topic_regex="t")
    groups.advance(0)
    groups.beat("A")
    groups.advance(1000)
    assert groups.come("B", None, subscribed_topic_regex="t") == "3:"
    assert groups.beat("A") == "2: t0"


def test_a_second_expression_waits_ten_seconds() -> None:
    groups = ConsumerTable(t=1, u=1)
    groups.come("A", None, subscribed_topic_regex="t")
    groups.advance(0)
    groups.beat("A")
    assert groups.come("B", None, subscribed_topic_regex="u") == "2:"
    groups.advance(10_000)
    groups.beat("B")
    groups.advance(0)
    assert "u" not in groups.group().regexes
    groups.advance(1)
    groups.beat("B")
    groups.advance(0)
    assert groups.beat("B") == "3: u0"


def test_a_topic_created_later_is_found_after_ten_seconds() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", None, subscribed_topic_regex=".*")
    groups.advance(0)
    groups.beat("A")
    groups.create_topic("u", 1)
    groups.advance(10_000)
    groups.beat("A")
    groups.advance(1)
    assert groups.beat("A") == "2"
    groups.advance(0)
    assert groups.beat("A") == "3: t0 u0"
    groups.advance(20_000)
    groups.written()
    groups.beat("A")
    groups.advance(0)
    assert groups.written() == []


def test_a_deleted_topic_goes_without_matching_anew() -> None:
    groups = ConsumerTable(t=1, u=1)
    groups.come("A", None, subscribed_topic_regex=".*")
    groups.advance(0)
    groups.beat("A")
    groups.delete_topic("u")
    groups.advance(1000)
    assert groups.beat("A") == "2: t0"


def test_expressions_nobody_uses_any_more_are_forgotten() -> None:
    groups = ConsumerTable(t=1, u=1)
    groups.come("A", None, subscribed_topic_regex="t")
    groups.come("B", None, subscribed_topic_regex="t")
    groups.advance(0)
    groups.written()
    groups.beat("A", subscribed_topic_regex="u")
    assert groups.written()[0] == "5 A"
    groups.leave_group("B")
    assert groups.written()[-2:] == ["16 t gone", "3 epoch 3"]


def test_what_is_no_expression_is_refused_and_leaves_no_trace() -> None:
    groups = ConsumerTable(t=1)
    assert groups.come("A", None, subscribed_topic_regex="a[") == "INVALID_REGULAR_EXPRESSION"
    assert groups.error("A") == (
        "SubscribedTopicRegex `a[` is not a valid regular expression: missing closing ]."
    )
    assert groups.shard.consumer.groups == {}
    assert groups.timers.keys() == ConsumerTable().timers.keys()


def test_many_names_are_matched_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_resolution, "NAMES_A_STEP", 2)
    groups = ConsumerTable(a=1, b=1, c=1, d=1, e=1)
    groups.come("A", None, subscribed_topic_regex="[a-e]")
    groups.advance(0)
    assert groups.group().regexes["[a-e]"].topics == frozenset("abcde")


def test_a_resolution_lost_with_a_refused_record_is_begun_again() -> None:
    groups = ConsumerTable(t=1)
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.come("A", None, subscribed_topic_regex="t")
    groups.come("A", None, subscribed_topic_regex="t")
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.advance(0)
    assert groups.group().regexes == {}
    groups.beat("A")
    groups.advance(0)
    assert groups.beat("A") == "2: t0"


def test_after_a_restart_expressions_stand_for_what_they_did() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", None, subscribed_topic_regex="t|u")
    groups.advance(0)
    groups.beat("A")
    groups.create_topic("u", 1)
    groups.restart()
    assert groups.beat("A") == "2"
    groups.advance(10_001)
    groups.beat("A")
    groups.advance(0)
    assert groups.beat("A") == "3: t0 u0"
