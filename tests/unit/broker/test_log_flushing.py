"""After flushing all, no log has anything left to sync."""

import asyncio

from broker.jobs import JobRunner
from broker.log_flushing import flush_all
from runtime.blocking import Workers
from runtime.scheduler import Scheduler
from tests.support.replicas import ReplicaBroker


async def test_every_log_is_durable_to_its_end() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=70)
    for index in range(70):
        broker.append(index=index)
    loop = asyncio.get_running_loop()
    workers = Workers(loop, 2)
    scheduler = Scheduler(loop, broker.clock)
    failed = []
    jobs = JobRunner(
        scheduler,
        workers,
        broker.clock,
        lambda directory, error: failed.append(error),
        broker.replicas.logs_changed,
    )
    logs = broker.logs.all_logs()
    await flush_all(logs, jobs, workers)
    assert [log.recovery_point for log in logs] == [1] * 70
    assert failed == []
    assert all(log.plan_flush(broker.clock.now_ms()) is None for log in logs)
    scheduler.close()
    workers.close(wait=True)
