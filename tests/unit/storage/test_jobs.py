"""Work as data: what is planned, done away from the loop, and put in force on it."""

from storage.jobs import Job, OffLoopWork, OnLoopWork, PeriodicJob
from storage.log.partition_log import PartitionLog


def test_off_loop_work_changes_no_state_and_names_what_follows() -> None:
    done: list[str] = []
    follow = Job("next", 5, lambda _now_ms: ())
    work = OffLoopWork("/a", lambda: done.append("done"), (follow,))
    assert (work.log_dir, done) == ("/a", [])
    work.work()
    assert done == ["done"]
    assert work.commit() == ()
    assert work.jobs == (follow,)


def test_on_loop_work_does_all_at_commit() -> None:
    done: list[str] = []
    follow = Job("next", 0, lambda _now_ms: ())

    def run() -> tuple[list[PartitionLog], list[Job]]:
        done.append("done")
        return [], [follow]

    work = OnLoopWork("/a", run)
    work.work()
    assert (done, work.jobs) == ([], ())
    assert work.commit() == []
    assert (done, work.jobs) == (["done"], [follow])


def test_jobs_show_their_names() -> None:
    assert repr(Job("flush-log", 3, lambda _now_ms: ())) == "Job(flush-log, delay_ms=3)"
    periodic = PeriodicJob("kafka-log-retention", lambda: 9, 3, lambda _now_ms: ())
    assert repr(periodic) == "PeriodicJob(kafka-log-retention, delay_ms=3)"
    assert periodic.period_ms() == 9
