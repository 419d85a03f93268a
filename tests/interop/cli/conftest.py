"""The commands as a user types them, against a real broker."""

import json
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

from pytest_tidelog.broker import Broker


class Command(Protocol):
    """Runs `tidelog …` with the broker's address given by the environment."""

    def __call__(self, *arguments: str, stdin: str | None = None) -> Result: ...


@pytest.fixture
def command(tidelog: Broker) -> Command:
    from cli.main import main

    def run(*arguments: str, stdin: str | None = None) -> Result:
        environment = {"TIDELOG_BOOTSTRAP_SERVER": tidelog.bootstrap_servers}
        return CliRunner().invoke(main, arguments, input=stdin, env=environment)

    return run


def parsed(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
