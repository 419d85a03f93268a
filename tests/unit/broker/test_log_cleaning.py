"""The cleaner is made when it is first needed."""

import logging
from collections.abc import Callable

import pytest

from broker.log_cleaning import START, START_DELAY_MS, LogCleaning
from config.broker_config import BrokerConfig
from storage.jobs import PeriodicJob
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import PARTITION, LogHarness


class Later:
    """A scheduler and a job runner that only take note."""

    def __init__(self) -> None:
        self.once_jobs: list[tuple[str, int, Callable[[], None]]] = []
        self.periodic: list[PeriodicJob] = []

    def once(self, name: str, delay_ms: int, function: Callable[[], None]) -> None:
        self.once_jobs.append((name, delay_ms, function))

    def start(self, jobs: list[PeriodicJob]) -> None:
        self.periodic += jobs


def cleaning(later: Later, **settings: str) -> LogCleaning:
    harness = LogHarness(FaultDisk())
    config = BrokerConfig({name.replace("_", "."): value for name, value in settings.items()})
    return LogCleaning(config, harness.manager, harness.jobs, later)  # type: ignore[arg-type]


def is_made(found: LogCleaning) -> bool:
    return found.cleaner is not None


def test_no_start_waits_for_the_cleaner() -> None:
    later = Later()
    made = cleaning(later)
    made.start(later)  # type: ignore[arg-type]
    assert not is_made(made)
    ((name, delay_ms, begin),) = later.once_jobs
    assert (name, delay_ms) == (START, START_DELAY_MS)
    begin()
    assert is_made(made)
    assert [job.name for job in later.periodic] == ["kafka-log-cleaner"]
    made.stop()


def test_a_broker_that_stops_within_a_second_makes_none() -> None:
    later = Later()
    made = cleaning(later)
    made.start(later)  # type: ignore[arg-type]
    made.stop()
    later.once_jobs[0][2]()
    assert not is_made(made)


def test_switched_off_it_says_what_that_means(caplog: pytest.LogCaptureFixture) -> None:
    later = Later()
    with caplog.at_level(logging.WARNING):
        cleaning(later, log_cleaner_enable="false").start(later)  # type: ignore[arg-type]
    assert later.once_jobs == []
    assert "not compacted" in caplog.text


def test_a_pause_has_it_made_and_holds() -> None:
    later = Later()
    made = cleaning(later)
    made.pause(PARTITION)
    made.resume(PARTITION)
    assert is_made(made)
    made.stop()
