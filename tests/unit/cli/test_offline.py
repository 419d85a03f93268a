"""Finding out what is looked at, without touching it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.offline import UNKNOWN, broker_running_on, choose, quiet_pipe, topic_metadata
from cluster import znodes
from cluster.store.port import Create
from cluster.store.tables import Tree

TOPIC_ID = bytes(range(16))


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    (tmp_path / "data" / "orders-0" / f"{0:020d}.log").touch()
    (tmp_path / "data" / "empty-3").mkdir()
    return tmp_path / "data"


def test_log_directories_are_told_from_partitions(log_dir: Path) -> None:
    chosen = choose([log_dir, log_dir / "orders-0", log_dir / "empty-3"])
    assert chosen.log_dirs == [str(log_dir)]
    assert chosen.partitions == [str(log_dir / "orders-0"), str(log_dir / "empty-3")]
    assert chosen.parents == [str(log_dir)]


@pytest.fixture
def locked(log_dir: Path) -> Iterator[Path]:
    """Another process holds the lock, as a broker does."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from runtime.disk import OsDisk\n"
        "lock = OsDisk().lock(sys.argv[1])\n"
        "print('locked', flush=True); sys.stdin.read()"
    )
    root = str(Path(__file__).parents[3])
    holder = subprocess.Popen(
        [sys.executable, "-P", "-c", script, str(log_dir / ".lock"), root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        yield log_dir
        holder.communicate()


def test_a_broker_is_seen_by_its_lock_and_not_disturbed(locked: Path) -> None:
    assert broker_running_on([str(locked)]) is not None
    assert broker_running_on([str(locked / "orders-0")]) is None


def test_a_lock_file_alone_is_no_broker(log_dir: Path) -> None:
    (log_dir / ".lock").touch()
    assert broker_running_on([str(log_dir)]) is None


def test_topics_are_read_from_the_store_and_nothing_is_left_beside_it(log_dir: Path) -> None:
    file = log_dir / "tidelog-metadata.sqlite"
    assert topic_metadata([str(log_dir)]) == UNKNOWN
    paths = ["/brokers", "/brokers/topics", "/config", "/config/topics"]
    nodes = [Create(path, None) for path in paths]
    nodes.append(Create(znodes.topic("orders"), znodes.encode_topic(TOPIC_ID, {0: [1]})))
    nodes.append(Create(znodes.topic("users"), znodes.encode_topic(TOPIC_ID, {0: [1]})))
    settings = znodes.encode_config({"cleanup.policy": "compact,delete"})
    nodes.append(Create(znodes.config("topics", "users"), settings))
    tree = Tree.open(str(file), nodes)
    tree.close()
    before = sorted(path.name for path in log_dir.iterdir())
    found = topic_metadata([str(log_dir)])
    assert found.ids == {"orders": TOPIC_ID, "users": TOPIC_ID}
    assert found.compacted == {"orders": False, "users": True}
    assert sorted(path.name for path in log_dir.iterdir()) == before


def test_a_damaged_store_is_left_out_with_a_word(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log_dir / "tidelog-metadata.sqlite").write_bytes(b"no database" * 100)
    assert topic_metadata([str(log_dir)]) == UNKNOWN
    assert "cannot be read" in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_a_command_without_a_word(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import click\n"
        "from cli.offline import quiet_pipe\n"
        "@click.command()\n@quiet_pipe\n"
        "def many():\n    for number in range(200000): click.echo(number)\n"
        "many([])"
    )
    root = str(Path(__file__).parents[3])
    writer = subprocess.Popen(
        [sys.executable, "-P", "-c", script, root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"0\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


def test_other_output_comes_out_whole() -> None:
    @click.command()
    @quiet_pipe
    def one() -> None:
        click.echo("all of it")

    assert CliRunner().invoke(one, []).output == "all of it\n"
