from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cluster.controller.placement import place, place_more


class Zero:
    def randrange(self, stop: int, /) -> int:
        return 0


def test_partitions_are_laid_out_as_kafka_draws_them() -> None:
    placed = place(range(5), 10, 3, Zero())
    assert placed == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_one_broker_holds_everything() -> None:
    assert place([7], 3, 1, Random(0)) == {0: (7,), 1: (7,), 2: (7,)}
    assert place_more([7], {0: (7,)}, 3) == {1: (7,), 2: (7,)}


def test_growth_goes_on_from_the_first_leader_or_from_the_start_without_it() -> None:
    assert place_more([1, 2, 3], {0: (2,)}, 4) == {1: (3,), 2: (1,), 3: (2,)}
    assert place_more([1, 3], {0: (2,)}, 2) == {1: (3,)}


@given(st.data())
def test_replicas_are_distinct_and_leaders_spread_evenly(data: st.DataObject) -> None:
    brokers = sorted(data.draw(st.sets(st.integers(0, 50), min_size=1, max_size=8)))
    replication_factor = data.draw(st.integers(1, len(brokers)))
    partitions = data.draw(st.integers(1, 40))
    random = Random(data.draw(st.integers()))
    placed = place(brokers, partitions, replication_factor, random)
    grown = place_more(brokers, placed, partitions + 5)
    assert list(placed) == list(range(partitions))
    assert list(grown) == list(range(partitions, partitions + 5))
    for replicas in (*placed.values(), *grown.values()):
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert set(replicas) <= set(brokers)
    leaders = Counter(replicas[0] for replicas in placed.values())
    assert max(leaders.values()) - min(leaders[broker] for broker in brokers) <= 1
