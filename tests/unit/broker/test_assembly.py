import asyncio
from pathlib import Path

from broker.assembly import Platform, job_intervals, make_base, make_logs
from config.keys import log
from config.loading import load
from runtime.clock import SystemClock
from runtime.disk import OsDisk
from runtime.metrics import Summary
from storage.log_directory import LogDirectory


async def test_the_base_runs_nothing_by_itself() -> None:
    config = load(None, {}, [])
    base = make_base(
        config, Platform(SystemClock(), OsDisk(), Summary()), asyncio.get_running_loop()
    )
    try:
        assert base.workers.unfinished == 0
        assert not base.scheduler.jobs()
    finally:
        base.scheduler.close()
        base.workers.close(wait=True)


async def test_logs_are_made_over_the_directories_given_and_not_loaded(tmp_path: Path) -> None:
    base = make_base(
        load(None, {}, []),
        Platform(SystemClock(), OsDisk(), Summary()),
        asyncio.get_running_loop(),
    )
    try:
        directory = LogDirectory(OsDisk(), str(tmp_path))
        logs = make_logs(base, [directory], file_limit=100)
        assert list(logs.directories) == [str(tmp_path)]
        assert logs.all_logs() == []
    finally:
        base.scheduler.close()
        base.workers.close(wait=True)


def test_job_intervals_follow_a_setting_that_changes() -> None:
    config = load(None, {}, ["log.initial.task.delay.ms=7"])
    intervals = job_intervals(config)
    assert intervals.initial_delay_ms == 7
    assert intervals.delete_logs() == config[log.LOG_SEGMENT_DELETE_DELAY_MS]
    config.set_dynamic({"log.segment.delete.delay.ms": "5"}, {})
    assert intervals.delete_logs() == 5
