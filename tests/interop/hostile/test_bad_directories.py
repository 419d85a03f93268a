"""Whatever lies in a data directory: what was acknowledged is served, or kept and named.

A directory is made once, with two topics in two segments each, and copied for every test; the
test does something to the copy while no broker runs, and starts one on it.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic
from tests.interop.clients import CLIENTS, Sent
from tests.interop.hostile.wire import Wire

TOPICS = ("kept", "other")
SETTINGS = {"log.segment.bytes": 1 << 20, "log.index.interval.bytes": 512}
CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def records_of(topic: str) -> list[Sent]:
    return [Sent(b"%d" % n, b"%s %d " % (topic.encode(), n) * 2000) for n in range(100)]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that was closed in order."""
    folder = tmp_path_factory.mktemp("closed") / "data"
    broker = Broker(folder, SETTINGS, metrics=False).start()
    for topic in TOPICS:
        create_topic(broker.bootstrap_servers, topic)
        sent = records_of(topic)
        for first in range(0, len(sent), 25):
            part = sent[first : first + 25]
            CLIENTS["confluent"].produce(broker.bootstrap_servers, topic, part, "none")
    assert broker.stop() == 0
    assert len(list((folder / "kept-0").glob("*.log"))) > 1
    return folder


@pytest.fixture
def data(closed: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(closed, tmp_path / "data"))


@pytest.fixture
def start(data: Path) -> Iterator[Callable[[], Broker]]:
    """Starts a broker on the copy, and stops it after the test."""
    broker = Broker(data, SETTINGS, metrics=False)
    yield broker.start
    broker.close()


def is_whole(broker: Broker, *topics: str) -> None:
    """Every record of these topics is served, and the next one is taken."""
    for topic in topics:
        sent = records_of(topic)
        assert CLIENTS["confluent"].fetch(broker.bootstrap_servers, topic, len(sent)) == sent
        more = [Sent(b"more", b"more")]
        CLIENTS["confluent"].produce(broker.bootstrap_servers, topic, more, "none")
        with Wire(broker.bootstrap_servers) as wire:
            assert wire.end_offset(topic) == len(sent) + 1


def unclean(data: Path) -> None:
    """As after a kill."""
    (data / ".kafka_cleanshutdown").unlink()


# Checkpoints.

BAD_CHECKPOINTS = {
    "binary": bytes(range(256)) * 16,
    "text": b"all is well\n",
    "another version": b"7\n1\nkept 0 5\n",
    "a wrong count": b"0\n9\nkept 0 5\n",
    "negative offsets": b"0\n2\nkept 0 -5\nother 0 -9223372036854775808\n",
    "offsets beyond the end": b"0\n2\nkept 0 4000000000\nother 0 9223372036854775807\n",
    "lines twice": b"0\n4\nkept 0 1\nkept 0 2\nother 0 2\nother 0 1\n",
    "numbers of no meaning": b"0\n2\nkept zero 1\nother 0 1e9\n",
}


@pytest.mark.parametrize("content", BAD_CHECKPOINTS.values(), ids=BAD_CHECKPOINTS)
def test_no_checkpoint_takes_a_record_away(
    data: Path, start: Callable[[], Broker], content: bytes
) -> None:
    unclean(data)
    for name in CHECKPOINTS:
        if name != "log-start-offset-checkpoint" or b"kept 0" not in content:
            (data / name).write_bytes(content)
    for topic in TOPICS:
        (data / f"{topic}-0" / "leader-epoch-checkpoint").write_bytes(content)
    is_whole(start(), *TOPICS)


def test_a_checkpoint_that_cannot_be_used_is_named(data: Path, start: Callable[[], Broker]) -> None:
    for name in CHECKPOINTS:
        (data / name).write_bytes(BAD_CHECKPOINTS["binary"])
    broker = start()
    for name in CHECKPOINTS:
        assert str(data / name) in broker.log
    is_whole(broker, *TOPICS)


# Indexes and snapshots.


def empty(path: Path) -> None:
    path.write_bytes(b"")


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 26)


def noise(path: Path) -> None:
    path.write_bytes(b"\xff\x07" * 1000)


def of_another(path: Path) -> None:
    """The same file of the other topic."""
    other = path.parent.parent / ("other-0" if path.parent.name == "kept-0" else "kept-0")
    shutil.copy(max(other.glob(f"*{path.suffix}")), path)


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("damage", [empty, huge, noise, of_another])
def test_no_index_and_no_snapshot_hides_a_record(
    data: Path, start: Callable[[], Broker], damage: Callable[[Path], None], is_clean: bool
) -> None:
    if not is_clean:
        unclean(data)
    for suffix in ("index", "timeindex", "snapshot"):
        for path in (data / "kept-0").glob(f"*.{suffix}"):
            damage(path)
    is_whole(start(), *TOPICS)


# Logs that are not what was promised.


def cut_short(folder: Path) -> Path:
    log = max(folder.glob("*.log"))
    os.truncate(log, log.stat().st_size - 10)
    return log


def made_longer(folder: Path) -> Path:
    log = max(folder.glob("*.log"))
    log.write_bytes(log.read_bytes() + b"not a batch, nor the beginning of one " * 10)
    return log


def emptied(folder: Path) -> Path:
    log = max(folder.glob("*.log"))
    os.truncate(log, 0)
    return log


@pytest.mark.parametrize("damage", [cut_short, made_longer, emptied])
def test_a_log_that_lost_what_a_clean_shutdown_promised_is_kept_and_named(
    data: Path, start: Callable[[], Broker], damage: Callable[[Path], Path]
) -> None:
    log = damage(data / "kept-0")
    left = log.read_bytes()
    broker = start()
    lines = [line for line in broker.log.splitlines() if " ERROR " in line and str(log) in line]
    assert lines
    assert "tidelog log repair" in lines[0]
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.fetch("kept", 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert log.read_bytes() == left
    is_whole(broker, "other")


def test_a_torn_tail_after_a_kill_goes_with_a_warning_that_names_it(
    data: Path, start: Callable[[], Broker]
) -> None:
    unclean(data)
    for name in CHECKPOINTS:
        (data / name).unlink(missing_ok=True)
    log = max((data / "kept-0").glob("*.log"))
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:100])
    broker = start()
    assert "Corruption found in segment" in broker.log
    assert "100 bytes" in broker.log
    is_whole(broker, *TOPICS)


# What is not ours.


def test_what_is_foreign_is_left_alone(data: Path, start: Callable[[], Broker]) -> None:
    names = ["-", "-5", "kept-", "kept-0.bak", "kept-x", "kept--1", "lost+found", "na me-0", "…-1"]
    for name in names:
        (data / name).mkdir()
        (data / name / "00000000000000000000.log").write_bytes(b"mine")
    (data / "notes.txt").write_text("mine")
    (data / "nowhere-0").symlink_to(data / "nothing")
    (data / "circle-0").symlink_to(data / "circle-0")
    os.mkfifo(data / "pipe-0")
    inside = data / "kept-0"
    (inside / "abc.log").write_bytes(b"mine")
    (inside / "00000000000000000000.log.bak").write_bytes(b"mine")
    (inside / "directory").mkdir()
    (inside / "link").symlink_to(inside / "link")
    os.mkfifo(inside / "pipe")
    is_whole(start(), *TOPICS)
    for name in names:
        assert (data / name / "00000000000000000000.log").read_bytes() == b"mine"
    assert (inside / "abc.log").read_bytes() == b"mine"
    assert (data / "circle-0").is_symlink()


def test_a_partition_that_lies_elsewhere_is_served_through_its_link(
    data: Path, start: Callable[[], Broker], tmp_path: Path
) -> None:
    shutil.move(data / "kept-0", tmp_path / "elsewhere")
    (data / "kept-0").symlink_to(tmp_path / "elsewhere")
    is_whole(start(), *TOPICS)


def test_files_of_the_far_future_and_past_are_served(
    data: Path, start: Callable[[], Broker]
) -> None:
    """The clock was wrong when they were written, or is now."""
    unclean(data)
    for index, path in enumerate(sorted(data.rglob("*"))):
        os.utime(path, (0, 0) if index % 2 else (1 << 34, 1 << 34))
    is_whole(start(), *TOPICS)
