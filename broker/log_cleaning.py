"""The log cleaner of a broker: made a second after the start, so that no start waits for it.

Whoever moves a log asks for a pause through here, and has the cleaner made earlier if need be.
"""

import logging
from typing import TYPE_CHECKING, Final

from broker.jobs import JobRunner
from config.broker_config import BrokerConfig
from config.keys import log
from protocol.model import TopicPartition
from runtime.scheduler import Scheduler
from storage.log_jobs import LogJobs
from storage.log_manager import LogManager

if TYPE_CHECKING:
    from storage.cleaner.log_cleaner import LogCleaner

_logger = logging.getLogger(__name__)

START: Final = "start-log-cleaner"
START_DELAY_MS: Final = 1000


class LogCleaning:
    """See the module. `cleaner` is None until it was made."""

    __slots__ = ("_config", "_jobs", "_log_jobs", "_logs", "_stopped", "cleaner")

    def __init__(
        self, config: BrokerConfig, logs: LogManager, log_jobs: LogJobs, jobs: JobRunner
    ) -> None:
        self._config = config
        self._logs = logs
        self._log_jobs = log_jobs
        self._jobs = jobs
        self._stopped = False
        self.cleaner: LogCleaner | None = None

    def start(self, scheduler: Scheduler) -> None:
        """Clean from now on, unless log.cleaner.enable is false."""
        if self._config[log.LOG_CLEANER_ENABLE]:
            scheduler.once(START, START_DELAY_MS, self._start)
        else:
            _logger.warning(
                "log.cleaner.enable is false: compacted topics are not compacted, and grow"
            )

    def _start(self) -> None:
        if not self._stopped:
            self._jobs.start(self._made().periodic_jobs())

    def pause(self, partition: TopicPartition) -> None:
        """Nothing of a partition is cleaned until `resume`, counted."""
        self._made().abort_and_pause(partition)

    def resume(self, partition: TopicPartition) -> None:
        """One pause less."""
        self._made().resume(partition)

    def stop(self) -> None:
        """End what runs; when no job is planned any more."""
        self._stopped = True
        if self.cleaner is not None:
            self.cleaner.stop()

    def _made(self) -> "LogCleaner":
        if self.cleaner is None:
            from broker.cleaner_process import CleanerProcesses
            from storage.cleaner.log_cleaner import CleanerSettings, LogCleaner

            live = self._config.live
            settings = CleanerSettings(
                self._config[log.LOG_CLEANER_ENABLE],
                live(log.LOG_CLEANER_THREADS),
                live(log.LOG_CLEANER_DEDUPE_BUFFER_SIZE),
                live(log.LOG_CLEANER_IO_BUFFER_LOAD_FACTOR),
                live(log.LOG_CLEANER_IO_BUFFER_SIZE),
                live(log.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND),
                live(log.LOG_CLEANER_BACKOFF_MS),
            )
            write = self._log_jobs.plan_cleaner_offsets
            self.cleaner = LogCleaner(self._logs, settings, CleanerProcesses(), write)
        return self.cleaner
