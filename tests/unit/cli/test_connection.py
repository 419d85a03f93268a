"""Options and errors that all client commands share."""

from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cli.connection import DEFAULT_BOOTSTRAP, admin, bootstrap_option, named


def run(
    *arguments: str, environment: dict[str, str] | None = None
) -> tuple[dict[str, Any], Result]:
    seen: dict[str, Any] = {}

    @click.command()
    @bootstrap_option
    def command(client: dict[str, Any]) -> None:
        """Show what arrives."""
        seen.update(client)

    return seen, CliRunner().invoke(command, arguments, env=environment)


def test_the_address_comes_from_option_environment_or_default() -> None:
    assert run("-b", "h:1")[0]["bootstrap.servers"] == "h:1"
    variable = {"TIDELOG_BOOTSTRAP_SERVER": "h:2"}
    assert run(environment=variable)[0]["bootstrap.servers"] == "h:2"
    assert run()[0]["bootstrap.servers"] == DEFAULT_BOOTSTRAP


def test_client_properties_are_passed_through() -> None:
    assert run("-X", "security.protocol=SSL")[0]["security.protocol"] == "SSL"


def test_a_property_without_a_value_is_a_usage_error() -> None:
    assert run("-X", "nonsense")[1].exit_code == 2


def test_nobody_at_the_address_is_one_line_with_the_next_step() -> None:
    with pytest.raises(click.ClickException) as refused:
        admin({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "socket.timeout.ms": 100})
    assert "tidelog doctor -b 127.0.0.1:1" in refused.value.message


def test_what_failed_is_named_as_people_name_it() -> None:
    from confluent_kafka.admin import ConfigResource

    assert named("orders") == "orders"
    assert named(ConfigResource("topic", "orders")) == "topic orders"
    assert named(ConfigResource("broker", "")) == "broker default"
