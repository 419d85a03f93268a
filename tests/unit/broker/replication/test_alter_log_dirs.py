"""Moves between log directories: everything arrives, in order, while producers go on."""

import errno

import pytest

from broker.replication.delayed_fetch import FetchParams
from broker.replication.wanted_partition import WantedPartition
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.model import ACKS_ALL, TopicPartition
from storage.audit import audit_log_dir
from storage.errors import StorageError
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import read_all
from tests.support.replicas import ReplicaBroker, topic_id_of

TP = TopicPartition("t", 0)
SMALL = LogConfig(
    segment_bytes=1500, segment_index_bytes=1024, index_interval_bytes=100, file_delete_delay_ms=0
)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def broker() -> ReplicaBroker:
    return make_broker()


def make_broker(config: LogConfig = SMALL, disk: FaultDisk | None = None) -> ReplicaBroker:
    made = ReplicaBroker(("/d1", "/d2", "/d3"), disk)
    made.create("t", config=config)
    return made


def fill(broker: ReplicaBroker, batches: int, mark: int = 0) -> None:
    """So many batches of three records, by an idempotent producer."""
    for number in range(batches):
        known = broker.log().producers.get(7)
        sequence = 0 if known is None else known.last_sequence + 1
        values = [b"%d-%d-%d" % (mark, number, index) * 5 for index in range(3)]
        broker.append(values=values, producer_id=7, producer_epoch=0, base_sequence=sequence)


def content(broker: ReplicaBroker) -> list[tuple[int, bytes | None]]:
    log = broker.log()
    return read_all(log, log.log_start_offset, ReadBound.LOG_END)


def finish(broker: ReplicaBroker, turns: int = 100) -> None:
    """Run everything until the moves are over."""
    for _ in range(turns):
        broker.run_jobs()
        if not broker.moves.moves:
            return
        broker.advance(20)
    raise AssertionError(f"still moving: {broker.moves.moves}")


def step(broker: ReplicaBroker, jobs: int = 1) -> None:
    """Run so many jobs, the oldest first; what they ask for waits."""
    for _ in range(min(jobs, len(broker.jobs))):
        waiting, broker.jobs[:] = broker.jobs[1:], broker.jobs[:1]
        job = broker.jobs.pop()
        for work in job.plan(broker.clock.now_ms()):
            work.work()
            work.commit()
            waiting.extend(work.jobs)
        broker.jobs[:] = waiting + broker.jobs


def directories(disk: FaultDisk) -> list[str]:
    return sorted(
        f"{path}/{name}"
        for path in ("/d1", "/d2", "/d3")
        for name in disk.listdir(path)
        if disk.isdir(f"{path}/{name}")
    )


def test_a_moved_log_has_all_that_it_had(broker: ReplicaBroker) -> None:
    fill(broker, 20)
    before, segments = content(broker), [one.base_offset for one in broker.log().segments]
    old = broker.log()
    assert len(segments) > 2
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    log = broker.log()
    assert log is not old
    assert (log.log_dir, log.directory) == ("/d2", "/d2/t-0")
    assert content(broker) == before
    assert [one.base_offset for one in log.segments] == segments
    assert (log.high_watermark, log.latest_epoch) == (old.high_watermark, old.latest_epoch)
    assert directories(broker.disk) == ["/d2/t-0"]
    fill(broker, 3, mark=1)
    assert len(content(broker)) == len(before) + 9
    broker.logs.close(broker.clock.now_ms(), clean=True)
    assert [audit_log_dir(broker.disk, path) for path in ("/d1", "/d2", "/d3")] == [[], [], []]


def test_producers_go_on_at_every_step_of_a_move(broker: ReplicaBroker) -> None:
    fill(broker, 10)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    rounds = 0
    while broker.log().log_dir == "/d1":
        fill(broker, 1, mark=rounds)
        step(broker)
        if not broker.jobs:
            broker.advance(20)
        rounds += 1
        assert rounds < 300
    finish(broker)
    found = content(broker)
    assert [offset for offset, _ in found] == list(range(30 + 3 * rounds))
    assert rounds > 3


def test_a_waiting_fetch_is_answered_from_the_new_place(broker: ReplicaBroker) -> None:
    fill(broker, 4)
    end_offset = broker.log().log_end_offset
    wanted = WantedPartition(TP, topic_id_of("t"), 0, end_offset, 1 << 20)
    got: list[object] = []
    params = FetchParams(-1, 10_000, 1, 1 << 20, ReadBound.HIGH_WATERMARK, True)
    broker.replicas.wait_for_fetch(params, [wanted], got.append, got.append)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert got == []
    fill(broker, 1)
    broker.turn()
    assert len(got) == 1


def test_slices_read_before_the_swap_keep_their_bytes(broker: ReplicaBroker) -> None:
    fill(broker, 4)
    found = broker.log().read(0, 1 << 20, ReadBound.LOG_END, True)
    assert found.slice is not None
    before = found.slice.read()
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert found.slice.intact
    assert found.slice.read() == before
    found.slice.release()


@pytest.mark.parametrize("flush_messages", [1, 1 << 62])
def test_what_is_flushed_stays_flushed(flush_messages: int) -> None:
    config = SMALL._replace(flush_messages=flush_messages)
    broker = make_broker(config)
    fill(broker, 6)
    broker.run_jobs()
    flushed = broker.log().flushed_end_offset
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert broker.log().flushed_end_offset >= flushed
    broker.disk.power_cut()
    again = ReplicaBroker(("/d1", "/d2", "/d3"), broker.disk, {TP: topic_id_of("t")})
    log = again.logs.get(TP)
    assert log is not None
    assert log.log_dir == "/d2"
    assert log.log_end_offset >= flushed


def test_a_log_start_inside_a_batch_is_carried(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    log = broker.log()
    log.maybe_increment_log_start_offset(19, "client delete records request")
    before = content(broker)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert broker.log().log_start_offset == 19
    assert content(broker) == before
    first = log.segments.floor(19)
    assert first is not None
    assert broker.log().segments.first.base_offset == first.base_offset


def test_records_deleted_while_the_copy_is_made_are_deleted_from_it(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    broker.move_bytes_per_second = 1000
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.run_jobs()
    broker.replicas.delete_records(TP, 30)
    broker.log().delete_old_segments(broker.clock.now_ms())
    broker.move_bytes_per_second = 1 << 40
    finish(broker)
    assert [offset for offset, _ in content(broker)] == [30, 31, 32, 33, 34, 35]
    assert broker.log().segments.first.base_offset > 0


def test_producers_are_known_after_the_move(broker: ReplicaBroker) -> None:
    fill(broker, 3)
    before = broker.log().producers.get(7)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert broker.log().producers.get(7) is before
    again = broker.append(
        values=[b"0-2-%d" % index * 5 for index in range(3)],
        producer_id=7,
        producer_epoch=0,
        base_sequence=6,
    )
    assert again.duplicate


def test_refusals(broker: ReplicaBroker) -> None:
    alter = broker.moves.alter
    assert alter(TP, "/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert alter(TopicPartition("x" * 220, 0), "/d2") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert alter(TopicPartition("absent", 0), "/d3") == UNKNOWN
    away = TopicPartition("away", 0)
    broker.tell_metadata([broker.state(away, leader=2, replicas=(2,))], brokers=(1, 2))
    assert alter(away, "/d2") == ErrorCode.REPLICA_NOT_AVAILABLE
    assert alter(TP, "/d1") == ErrorCode.NONE
    assert not broker.moves.moves
    broker.logs.placement.cordoned = lambda: ("/d2",)
    assert alter(TP, "/d2") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    unplug(broker, "/d3")
    assert alter(TP, "/d3") == ErrorCode.KAFKA_STORAGE_ERROR
    broker.logs.placement.cordoned = tuple
    assert alter(TP, "/d2") == ErrorCode.KAFKA_STORAGE_ERROR


def unplug(broker: ReplicaBroker, path: str) -> None:
    broker.replicas.storage_failed(StorageError(path, "unplugged"))


def test_a_partition_that_is_offline_is_not_moved(broker: ReplicaBroker) -> None:
    unplug(broker, "/d1")
    assert broker.moves.alter(TP, "/d2") == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_wish_for_a_partition_that_comes_later_is_kept(broker: ReplicaBroker) -> None:
    assert broker.moves.alter(TopicPartition("later", 0), "/d3") == UNKNOWN
    broker.create("later", partitions=2)
    assert [broker.log("later", index).log_dir for index in (0, 1)] == ["/d3", "/d2"]
    assert not broker.logs.placement.preferred


def test_another_target_redirects_a_move_and_the_old_one_ends_it(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    broker.move_bytes_per_second = 1000
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.run_jobs()
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    assert broker.moves.alter(TP, "/d3") == ErrorCode.NONE
    broker.run_jobs()
    assert [name.split(".")[0] for name in directories(broker.disk)] == ["/d1/t-0", "/d3/t-0"]
    assert broker.moves.alter(TP, "/d1") == ErrorCode.NONE
    broker.run_jobs()
    assert directories(broker.disk) == ["/d1/t-0"]
    assert not broker.moves.moves
    assert broker.logs.future(TP) is None


def test_a_copy_that_is_in_hand_is_removed_when_it_is_given_back(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    job = broker.jobs.pop()
    broker.run_jobs()
    (work,) = job.plan(0)
    assert broker.moves.alter(TP, "/d3") == ErrorCode.NONE
    work.work()
    work.commit()
    broker.jobs.extend(work.jobs)
    finish(broker)
    assert directories(broker.disk) == ["/d3/t-0"]


def test_deleting_the_topic_ends_its_move(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    broker.move_bytes_per_second = 1000
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.run_jobs()
    broker.delete("t")
    finish(broker)
    assert directories(broker.disk) == []


def test_a_corrupt_batch_ends_the_move_and_is_named(
    broker: ReplicaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    fill(broker, 12)
    path = broker.log().segments[1].path(".log")
    fd = broker.disk.open(path)
    broker.disk.pwrite(fd, b"\xff", 100)
    broker.disk.close(fd)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert broker.log().log_dir == "/d1"
    assert f"{path}: at position 0" in caplog.text
    assert directories(broker.disk) == ["/d1/t-0"]
    fill(broker, 1)


def test_a_target_without_room_ends_the_move_only() -> None:
    broker = make_broker(disk=FaultDisk(usable=1 << 20))
    fill(broker, 2)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker)
    assert broker.log().log_dir == "/d1"
    assert not any(one.offline for one in broker.logs.directories.values())


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_target_that_fails_takes_its_own_logs_only(broker: ReplicaBroker, call: str) -> None:
    fill(broker, 12)
    broker.move_bytes_per_second = 1000
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.run_jobs()
    broker.move_bytes_per_second = 1 << 40
    broker.disk.fail(call, errno.EIO, path_ends=".log")
    finish(broker)
    assert [state.offline for state in broker.logs.log_dir_states()] == [False, True, False]
    before = content(broker)
    assert broker.log().log_dir == "/d1"
    fill(broker, 1)
    assert len(content(broker)) == len(before) + 3


def test_a_source_that_fails_leaves_the_copy_to_the_next_start(broker: ReplicaBroker) -> None:
    fill(broker, 12)
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.disk.fail("pread", errno.EIO, path_ends=".log")
    finish(broker)
    assert [state.offline for state in broker.logs.log_dir_states()] == [True, False, False]
    assert any("-future" in name for name in directories(broker.disk))
    assert broker.partition().offline


def test_a_move_goes_on_after_a_restart() -> None:
    broker = make_broker()
    fill(broker, 12)
    broker.move_bytes_per_second = 1000
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    broker.run_jobs()
    before = content(broker)
    broker.moves.stop()
    broker.logs.close(broker.clock.now_ms(), clean=True)
    broker.disk.restart()
    again = ReplicaBroker(("/d1", "/d2", "/d3"), broker.disk, {TP: topic_id_of("t")})
    again.create("t", config=SMALL)
    assert again.logs.future(TP) is not None
    again.moves.resume()
    finish(again)
    assert again.log().log_dir == "/d2"
    assert content(again) == before


def test_the_throttle_sets_the_pace() -> None:
    broker = make_broker(LogConfig(segment_bytes=1 << 20))
    for _ in range(64):
        broker.append(values=[b"x" * 16_000], acks=ACKS_ALL)
    broker.move_bytes_per_second = 200_000
    started_ms = broker.clock.now_ms()
    size = broker.log().size
    assert broker.moves.alter(TP, "/d2") == ErrorCode.NONE
    finish(broker, 2000)
    seconds = (broker.clock.now_ms() - started_ms) / 1000
    assert size / 200_000 * 0.8 < seconds < size / 200_000 * 1.2
