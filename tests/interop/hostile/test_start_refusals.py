"""A start that cannot be: one line that names the cause and the remedy, and nothing is touched."""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_tidelog.broker import Broker, BrokerFailed
from pytest_tidelog.client import create_topic
from tests.interop.hostile.wire import Wire, batch
from tests.support.tiny_disk import tiny_file_system

STORE = "tidelog-metadata.sqlite"
CONFIG, FAILED = 2, 1
START = [sys.executable, "-P", "-m", "cli.main", "start"]
PATIENCE_S = 30


def refusal(*arguments: str, code: int, **variables: str) -> str:
    """Start a broker that must not start; the last and only `tidelog: …` line."""
    done = subprocess.run(
        [*START, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("tidelog: ")]
    assert len(lines) == 1
    assert done.stderr.endswith(lines[0] + "\n")
    return lines[0]


def contents(directory: Path) -> dict[str, str]:
    """Every path below a directory, with a digest of what is in it."""
    return {
        str(path.relative_to(directory)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        )
        for path in sorted(directory.rglob("*"))
    }


def here(data: Path) -> list[str]:
    return ["--listen", "127.0.0.1:0", "--data-dir", str(data), "--metrics", "off"]


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A data directory with a topic and a record in it, closed in order."""
    broker = Broker(tmp_path / "data", metrics=False).start()
    create_topic(broker.bootstrap_servers, "kept", partitions=2)
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.produce("kept", batch(b"kept")).error_code == 0
    assert broker.stop() == 0
    return tmp_path / "data"


# Settings.


def test_a_bad_setting_is_named_with_value_rule_and_where_it_was_written(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("node.id=1\n\nnum.partitions=0\n")
    line = refusal(str(properties), code=CONFIG)
    assert line == f"tidelog: num.partitions=0 ({properties}:3): Value must be at least 1"
    line = refusal(code=CONFIG, TIDELOG_NUM_PARTITIONS="many")
    where = "environment variable TIDELOG_NUM_PARTITIONS"
    assert line == f"tidelog: num.partitions=many ({where}): Not a number of type INT"
    line = refusal("--override", "log.retention.ms=x", code=CONFIG)
    assert line.startswith("tidelog: log.retention.ms=x (--override): ")
    line = refusal("--metrics", "nonsense", code=CONFIG)
    assert line.startswith("tidelog: tidelog.metrics.listener=nonsense (--metrics): ")


NOT_BUILT = [
    "zookeeper.connect=localhost:2181",
    "listeners=SSL://127.0.0.1:0",
    "listeners=SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms=PLAIN",
    "ssl.keystore.location=/etc/keys",
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "remote.log.storage.system.enable=true",
    "controller.quorum.voters=1@one:9093,2@two:9093",
    "process.roles=controller",
    "listener.name.plaintext.sasl.enabled.mechanisms=PLAIN",
]


@pytest.mark.parametrize("setting", NOT_BUILT, ids=lambda setting: setting.partition("=")[0])
def test_what_is_not_built_is_refused_and_not_ignored(tmp_path: Path, setting: str) -> None:
    data = tmp_path / "data"
    key = setting.partition("=")[0]
    line = refusal("--data-dir", str(data), "--override", setting, code=CONFIG)
    assert key in line
    assert "(--override)" in line
    assert not data.exists()


@pytest.fixture
def started(tmp_path: Path) -> Callable[[str], str]:
    """Starts and stops a broker; its log."""

    def start(text: str) -> str:
        properties = tmp_path / "server.properties"
        properties.write_text(text)
        process = subprocess.Popen(
            [*START, str(properties), "--data-dir", str(tmp_path / "data"), "--metrics", "off"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        return log

    return start


def test_a_file_for_a_single_kraft_node_is_taken_with_one_warning(
    started: Callable[[str], str],
) -> None:
    log = started(
        "process.roles=broker,controller\nnode.id=1\n"
        "controller.quorum.voters=1@localhost:9093\n"
        "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "inter.broker.listener.name=PLAINTEXT\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
    )
    warnings = [line for line in log.splitlines() if "WARNING" in line]
    assert len([line for line in warnings if "CONTROLLER" in line]) == 1
    assert len([line for line in warnings if "server.properties" in line]) == 1


def test_an_unknown_setting_gets_one_warning_with_the_nearest_spelling(
    started: Callable[[str], str],
) -> None:
    log = started("listeners=PLAINTEXT://127.0.0.1:0\nlog.retention.msec=5\n")
    warnings = [line for line in log.splitlines() if "log.retention.msec" in line]
    assert len(warnings) == 1
    assert "WARNING" in warnings[0]
    assert "did you mean log.retention.ms?" in warnings[0]


# Addresses.


@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_a_port_in_use_is_named_and_nothing_made(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        line = refusal(*here(tmp_path / "data"), option, address, code=FAILED)
    assert address in line
    assert "stop the process that has it, or choose another port" in line
    assert not (tmp_path / "data").exists()


# Directories.


def test_a_directory_another_broker_holds_is_left_to_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "data", metrics=False).start()
    create_topic(broker.bootstrap_servers, "kept")
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.produce("kept", batch(b"one")).error_code == 0
        before = contents(broker.data_dir)
        line = refusal(*here(broker.data_dir), code=FAILED)
        assert str(broker.data_dir) in line
        assert "Stop that process, or point log.dirs at another directory" in line
        assert contents(broker.data_dir) == before
        assert wire.produce("kept", batch(b"two")).base_offset == 1
    broker.close()


def changed(line: str, by: str) -> Callable[[Path], None]:
    """Writes something else behind a key of meta.properties."""

    def change(data: Path) -> None:
        file = data / "meta.properties"
        lines = file.read_text().splitlines()
        assert any(one.startswith(line) for one in lines)
        file.write_text("\n".join(line + by if o.startswith(line) else o for o in lines) + "\n")

    return change


def without_store(data: Path) -> None:
    (data / STORE).unlink()


def with_an_empty_store(data: Path) -> None:
    (data / STORE).write_bytes(b"")


def with_a_garbled_store(data: Path) -> None:
    file = data / STORE
    file.write_bytes(b"this is no database " * (file.stat().st_size // 20))


def with_half_a_store(data: Path) -> None:
    file = data / STORE
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def with_the_store_of_another_cluster(data: Path) -> None:
    other = Broker(data.parent / "other", metrics=False).start()
    assert other.stop() == 0
    shutil.copy(data.parent / "other" / STORE, data / STORE)
    shutil.rmtree(data.parent / "other")


def with_garbled_meta_properties(data: Path) -> None:
    (data / "meta.properties").write_bytes(b"\x00\xff\x00nothing")


WRONG: list[tuple[Callable[[Path], None], str]] = [
    (without_store, "restore it from a backup"),
    (with_an_empty_store, "restore it from a backup"),
    (with_a_garbled_store, "restore"),
    (with_half_a_store, "restore"),
    (with_the_store_of_another_cluster, "put the store of that cluster back"),
    (changed("cluster.id=", "AAAAAAAAAAAAAAAAAAAAAA"), "put the store of that cluster back"),
    (changed("node.id=", "7"), "correct node.id"),
    (changed("version=", "9"), "meta.properties"),
    (with_garbled_meta_properties, "meta.properties"),
]


@pytest.mark.parametrize(
    ("damage", "remedy"),
    WRONG,
    ids=[f"{index}-{damage.__name__}" for index, (damage, _) in enumerate(WRONG)],
)
def test_a_directory_that_is_not_what_it_should_be_is_refused_and_not_touched(
    used: Path, damage: Callable[[Path], None], remedy: str
) -> None:
    damage(used)
    before = contents(used)
    line = refusal(*here(used), "--override", "node.id=1", code=FAILED)
    assert str(used) in line
    assert remedy in line
    assert contents(used) == before


def test_directories_of_a_missing_store_are_named(used: Path) -> None:
    without_store(used)
    line = refusal(*here(used), code=FAILED)
    assert str(used / "kept-0") in line
    assert str(used / "kept-1") in line


def test_a_file_in_place_of_a_directory_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("mine")
    for path in (file, file / "below"):
        line = refusal(*here(path), code=FAILED)
        assert str(path) in line
        assert "name a directory in log.dirs" in line
    assert file.read_text() == "mine"


def test_a_file_in_place_of_the_store_is_a_directory(used: Path) -> None:
    (used / STORE).unlink()
    (used / STORE).mkdir()
    before = contents(used)
    assert STORE in refusal(*here(used), code=FAILED)
    assert contents(used) == before


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB; skipped where this process may not mount one."""
    with tiny_file_system(tmp_path / "tiny", "256k") as place:
        yield place


def test_a_full_disk_is_named_with_the_remedy(tiny: Path) -> None:
    filler = tiny / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    line = refusal(*here(tiny), code=FAILED)
    assert str(tiny) in line
    assert "free some space" in line
    filler.unlink()
    broker = Broker(tiny, metrics=False).start()
    assert broker.stop() == 0


def test_a_start_that_failed_says_so_to_whoever_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(BrokerFailed, match="name a directory in log"):
        Broker(tmp_path / "data").start()
