"""The page: whole families, dialects, one rendering a second."""

import asyncio
from collections.abc import Iterator

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text

from broker.metrics import declarations as names
from broker.metrics.exposition import Exposition
from broker.metrics.families import Piece, Sample
from tests.support.manual_clock import ManualClock


def exposition(pieces: list[Piece], clock: ManualClock, dialects: str = "abc") -> Exposition:
    def made() -> Iterator[Piece]:
        return iter(pieces)

    return Exposition(made, lambda: frozenset(dialects), clock, list)


def sizes(first: int, count: int) -> Piece:
    labels = [{"topic": "t", "partition": str(index)} for index in range(first, first + count)]
    return Piece(names.LOG_SIZE, [Sample("", label, 1) for label in labels])


async def test_pieces_of_a_family_stand_together_under_one_header() -> None:
    other = Piece(names.LEADER_COUNT, [Sample("", {}, 3)])
    page = await exposition([sizes(0, 2), other, sizes(2, 3)], ManualClock()).page(False)
    families = {family.name: family.samples for family in parse_text(page.decode())}
    assert len(families["kafka_log_log_size"]) == 5
    assert page.count(b"# TYPE kafka_log_log_size") == 1


async def test_openmetrics_is_parsed_by_its_own_parser() -> None:
    counter = names.TOPIC_COUNTERS["messages_in"]
    samples = [Sample("", {"topic": "t"}, 7)]
    page = await exposition(
        [Piece(counter.a, samples), Piece(counter.b, samples)], ManualClock()
    ).page(True)
    # The parser is not annotated.
    families = parse_open(page.decode())  # type: ignore[no-untyped-call]
    found = {s.name: s.value for family in families for s in family.samples}
    assert found == {
        "kafka_server_brokertopicmetrics_messagesin_total": 7,
        "kafka_server_brokertopicmetrics_messagesinpersec": 7,
    }


async def test_a_dialect_that_is_not_wanted_is_left_out() -> None:
    counter = names.TOPIC_COUNTERS["messages_in"]
    samples = [Sample("", {}, 1)]
    pieces = [Piece(counter.a, samples), Piece(counter.b, samples)]
    page = await exposition(pieces, ManualClock(), dialects="a").page(False)
    assert b"messagesin_total 1.0" in page
    assert b"persec" not in page


async def test_scrapes_within_a_second_get_one_rendering() -> None:
    clock = ManualClock()
    pieces = [Piece(names.LEADER_COUNT, [Sample("", {}, 1)])]
    made = exposition(pieces, clock)
    first, again = await asyncio.gather(made.page(False), made.page(False))
    pieces[0] = Piece(names.LEADER_COUNT, [Sample("", {}, 2)])
    clock.advance(900)
    assert first == again == await made.page(False)
    clock.advance(200)
    assert b"leadercount 2.0" in await made.page(False)
