"""Sub-commands are found by name and imported only then."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from cli.main import COMMANDS, main


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name in result.output


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["fly"])
    assert result.exit_code == 2
    assert "No such command" in result.output


def test_the_broker_is_started_without_the_libraries_of_the_clients() -> None:
    script = (
        "import sys\n"
        "import cli.main, cli.start, broker.server, broker.timed_disk\n"
        "heavy = {'confluent_kafka', 'rich', 'prometheus_client', 'zstandard', 'lz4', 'cramjam'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert out.stdout.strip() == "[]"


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("tidelog ")


def test_a_command_without_its_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    result = CliRunner().invoke(main, ["topics", "list"])
    assert result.exit_code == 1
    assert "pip install 'tidelog[cli]'" in result.output
