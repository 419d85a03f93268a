"""Lives nobody thought of: any order of the steps there are, stopped now and then in every way.

A failing life is shrunk to the fewest steps and printed as a list that can be put among the
scripted ones.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.topic_config import LogConfig
from tests.crash.engine import Explorer, Life, usual_ways
from tests.crash.failing_disk import FAILURES, calls_of, fail
from tests.crash.lives import SMALL, SYNCED
from tests.crash.machine import Setup
from tests.crash.steps import (
    Append,
    Checkpoint,
    Clean,
    Close,
    Create,
    CutPower,
    Delete,
    DeleteRecords,
    Elect,
    End,
    Finish,
    Flush,
    Kill,
    Repeat,
    Rest,
    Retain,
    Step,
    Truncate,
)
from tests.support.fault_disk import FaultDisk

pytestmark = pytest.mark.usefixtures("quiet")
partitions = st.integers(0, 1)
producers = st.integers(1, 3)
appends = st.builds(
    Append,
    partitions,
    st.sampled_from([-1, 1, 2, 3]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([0, 0, 40]),
)
others = st.one_of(
    st.builds(End, partitions, producers, st.booleans()),
    st.builds(Repeat, partitions, producers),
    st.builds(Flush, partitions, st.booleans()),
    st.sampled_from([Finish(), Rest(), Checkpoint(), Elect(), Retain(), Clean()]),
    st.builds(DeleteRecords, partitions, st.integers(0, 6)),
    st.builds(Truncate, partitions, st.integers(1, 15)),
    st.builds(Create, partitions),
    st.builds(Delete, partitions),
    st.builds(Close),
    st.builds(Kill, st.sampled_from([0, -3_600_000, 86_400_000])),
    st.builds(CutPower, st.one_of(st.none(), st.integers(0, 99))),
)
step_lists: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(appends, appends, others), min_size=4, max_size=25
)
KEYED = SMALL._replace(compact=True, delete=False, min_cleanable_dirty_ratio=0.0)
configs = st.sampled_from([SMALL, SYNCED, SMALL._replace(preallocate=True), KEYED])


def life_of(first: LogConfig, second: LogConfig, lazy: bool, steps: list[Step]) -> Life:
    """Two topics, each in a directory of its own, and what happens to them."""
    setup = Setup({"one": first, "two": second}, log_dirs=("/data", "/more"), lazy=lazy)
    return Life("random", setup, [Create(0), Create(1), *steps])


lives = st.builds(life_of, configs, configs, st.booleans(), step_lists)
relaxed = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)


@settings(relaxed, derandomize=True)
@given(lives, st.integers(5, 25), st.integers(0, 24))
def test_storage_survives_a_stop_of_any_life(life: Life, stride: int, phase: int) -> None:
    def some_ways(moment: int, disk: FaultDisk) -> Iterator[str]:
        if moment % stride == phase % stride:
            yield from usual_ways(moment, disk)

    Explorer(life, some_ways).run()


@settings(relaxed, derandomize=True)
@given(lives, st.floats(0, 1), st.sampled_from(sorted(FAILURES)), st.sampled_from(["kill", "cut"]))
def test_storage_survives_a_failing_call_of_any_life(
    life: Life, where: float, failure: str, way: str
) -> None:
    fail(life, 1 + int(where * calls_of(life)), failure, way)


@pytest.mark.long
@settings(relaxed, max_examples=3000)
@given(lives)
def test_storage_survives_every_stop_of_any_life(life: Life) -> None:
    Explorer(life, usual_ways).run()
