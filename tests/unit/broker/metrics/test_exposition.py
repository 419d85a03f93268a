"""The page: whole families, dialects, one rendering a second."""

import asyncio
import time
from collections.abc import Iterator

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text

from broker.metrics import declarations as names
from broker.metrics.exposition import TURN_S, Exposition
from broker.metrics.families import SLICE, Piece, Sample, pieces
from runtime.clock import SystemClock
from tests.support.manual_clock import ManualClock
from tests.support.replicas import ReplicaBroker
from tests.unit.broker.metrics.test_families import sources

PARTITIONS = 2000


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


class CountingClock(ManualClock):
    """Time passes only by work: each look at the clock is more than a turn after the last."""

    def monotonic(self) -> float:
        self.advance(int(TURN_S * 1000) + 1)
        return super().monotonic()


async def test_a_turn_ends_with_the_piece_that_took_its_time() -> None:
    """So what a scrape holds the loop for is one piece, which is bounded in samples."""
    rendered = 0
    turns: list[int] = []

    def made() -> Iterator[Piece]:
        nonlocal rendered
        for piece in [sizes(first, SLICE) for first in range(0, 10 * SLICE, SLICE)]:
            rendered += 1
            yield piece

    page = Exposition(made, lambda: frozenset("abc"), CountingClock(), list)
    task = asyncio.ensure_future(page.page(False))
    while not task.done():
        before = rendered
        await asyncio.sleep(0)
        turns.append(rendered - before)
    assert rendered == 10
    assert max(turns) == 1


async def longest_turn_s(broker: ReplicaBroker) -> float:
    """Processor time, so that other processes do not count."""
    page = Exposition(
        lambda: pieces(sources(broker, limit=PARTITIONS)),
        lambda: frozenset("abc"),
        SystemClock(),
        list,
    )
    task = asyncio.ensure_future(page.page(False))
    longest = 0.0
    while not task.done():
        began = time.thread_time()
        broker.append(index=0)
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - began)
    assert task.result().count(b"kafka_log_log_size{") == PARTITIONS
    return longest


async def test_a_scrape_of_two_thousand_partitions_under_load_holds_the_loop_for_moments() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=PARTITIONS)
    assert min([await longest_turn_s(broker) for _ in range(3)]) < 0.010
