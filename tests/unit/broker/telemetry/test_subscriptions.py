"""What subscriptions ask of a client: the union of those that match, at the smallest interval."""

from broker.telemetry.subscriptions import Asked, Subscription, asked_of, is_pattern

ID = bytes(range(16))
APP = {"client_id": "app-1", "client_source_port": "40000"}


def ask(*configs: dict[str, str], client: dict[str, str] | None = None) -> Asked:
    return asked_of(ID, APP if client is None else client, [Subscription(one) for one in configs])


def test_nobody_asks_for_anything() -> None:
    asked = ask()
    assert (asked.metrics, asked.interval_ms) == ((), 300000)


def test_the_union_is_asked_for_at_the_smallest_interval() -> None:
    asked = ask(
        {"metrics": "b.,a.", "interval.ms": "60000", "match": "client_id=app-.*"},
        {"metrics": "b.,c.", "interval.ms": "10000"},
        {"metrics": "d.", "interval.ms": "100", "match": "client_id=other"},
    )
    assert (asked.metrics, asked.interval_ms) == (("a.", "b.", "c."), 10000)


def test_a_subscription_to_everything_swallows_the_rest() -> None:
    assert ask({"metrics": "*"}, {"metrics": "a."}).metrics == ("*",)


def test_an_interval_longer_than_the_default_is_cut_to_it() -> None:
    assert ask({"metrics": "a.", "interval.ms": "3600000"}).interval_ms == 300000


def test_every_pattern_matches_the_whole_of_its_attribute() -> None:
    for match, is_asked in (
        ("client_id=app-.*", True),
        ("client_id=app", False),
        ("client_id=pp-1", False),
        ("client_id=app-1,client_source_port=4[0-9]+", True),
        ("client_id=app-1,client_source_port=5[0-9]+", False),
        ("client_software_name=.*", False),
    ):
        assert bool(ask({"metrics": "a.", "match": match}).metrics) == is_asked, match


def test_the_id_changes_with_metrics_interval_and_client_and_with_nothing_else() -> None:
    one = ask({"metrics": "a.,b."})
    assert ask({"metrics": "b."}, {"metrics": "a."}).subscription_id == one.subscription_id
    others = {
        ask({"metrics": "a."}).subscription_id,
        ask({"metrics": "a.,b.", "interval.ms": "100"}).subscription_id,
        asked_of(b"x" * 16, APP, [Subscription({"metrics": "a.,b."})]).subscription_id,
        one.subscription_id,
    }
    assert len(others) == 4
    assert all(-(1 << 31) <= number < 1 << 31 for number in others)


def test_a_pattern_is_one_that_can_be_matched_in_time() -> None:
    assert is_pattern("a(b|c)*")
    assert not is_pattern("(")
    assert not is_pattern("(?=a)")
    assert not is_pattern("x" * 20_000)
