"""tidelog log: a group whose commands are modules of their own."""

import pytest
from click.testing import CliRunner

from cli.log import COMMANDS, command


def test_every_command_has_its_help() -> None:
    shown = CliRunner().invoke(command, ["--help"])
    assert shown.exit_code == 0
    for name in COMMANDS:
        assert name in shown.output
        assert CliRunner().invoke(command, [name, "--help"]).exit_code == 0


@pytest.mark.parametrize("name", ["main", "log", "nonsense"])
def test_other_modules_are_no_commands(name: str) -> None:
    assert "No such command" in CliRunner().invoke(command, [name]).output
