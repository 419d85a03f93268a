"""tidelog start: settings from everywhere, one line out, exit codes."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cli.main", "start", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    """The next line of its output."""
    assert process.stdout is not None
    return process.stdout.readline()


def local(tmp_path: Path, *more: str) -> list[str]:
    return ["--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), *more]


def test_one_json_line_tells_that_it_serves_and_sigterm_ends_it_cleanly(
    start: Start, tmp_path: Path
) -> None:
    process = start(*local(tmp_path, "--metrics", "127.0.0.1:0", "--override", "node.id=5"))
    ready = json.loads(line_of(process))
    assert list(ready) == [
        "event",
        "node_id",
        "cluster_id",
        "pid",
        "listeners",
        "metrics",
        "data_dirs",
        "start_ms",
    ]
    assert (ready["event"], ready["node_id"], ready["pid"]) == ("ready", 5, process.pid)
    assert ready["listeners"]["PLAINTEXT"].startswith("127.0.0.1:")
    assert ready["metrics"].startswith("127.0.0.1:")
    assert ready["data_dirs"] == [str(tmp_path / "data")]
    assert 0 < ready["start_ms"] < 60_000
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    assert "Stopped" in err
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_file_gives_settings_that_options_override(start: Start, tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("node.id=3\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs=/nowhere\n")
    process = start(
        str(properties),
        "--data-dir",
        str(tmp_path / "d"),
        "--metrics",
        "off",
        "--log-format",
        "json",
    )
    ready = json.loads(line_of(process))
    assert (ready["node_id"], ready["metrics"]) == (3, None)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert all("message" in json.loads(line) for line in err.splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--override", "log.segment.bytes=x"], 2, "log.segment.bytes=x (--override)"),
        (["--override", "nonsense"], 2, "KEY=VALUE"),
        (["/no/such/file"], 2, "/no/such/file"),
        (["--listen", "nowhere"], 2, "listeners=nowhere (--listen)"),
        (["--metrics", "x", "--listen", ":0"], 2, "tidelog.metrics.listener=x (--metrics)"),
        (["--data-dir", "/proc/none", "--listen", "127.0.0.1:0"], 1, "/proc/none"),
    ],
)
def test_a_start_that_is_refused_says_why_in_one_line(
    start: Start, arguments: list[str], code: int, words: str
) -> None:
    process = start(*arguments)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("tidelog: ")
    assert words in last


def test_two_brokers_do_not_share_a_directory(start: Start, tmp_path: Path) -> None:
    first = start(*local(tmp_path, "--metrics", "off"))
    assert line_of(first)
    second = start(*local(tmp_path, "--metrics", "off"))
    _, err = second.communicate(timeout=30)
    assert second.returncode == 1
    assert "another directory" in err
