"""tidelog configs: describe and alter the settings of topics and brokers."""

from typing import Any

import click

from cli.connection import TIMEOUT_SECONDS, admin, bootstrap_option, json_option, wait_all
from cli.output import print_json, print_table

SOURCES = {
    0: "unknown",
    1: "topic",
    2: "broker, dynamic",
    3: "cluster default",
    4: "server file",
    5: "default",
    6: "broker logger",
}


@click.group(name="configs")
def command() -> None:
    """Describe and alter settings of topics and brokers."""


def resource_options(function: Any) -> Any:
    """--topic NAME, --broker ID or --broker default: exactly one."""
    function = click.option("--topic", help="Settings of this topic.")(function)
    return click.option(
        "--broker", help="Settings of this broker id, or 'default' for all brokers."
    )(function)


def resource_type_and_name(topic: str | None, broker: str | None) -> tuple[str, str]:
    """("topic" or "broker", name); the brokers' default has no name."""
    if (topic is None) == (broker is None):
        raise click.UsageError("say either --topic NAME or --broker ID")
    if topic is not None:
        return "topic", topic
    return "broker", "" if broker == "default" else str(broker)


@command.command("describe")
@resource_options
@click.option("--all", "show_all", is_flag=True, help="Settings at their defaults too.")
@bootstrap_option
@json_option
def describe_configs(
    client: dict[str, Any], topic: str | None, broker: str | None, show_all: bool, as_json: bool
) -> None:
    """Settings with where each value comes from."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource

    resource = ConfigResource(*resource_type_and_name(topic, broker))
    connected = admin(client)  # a client that is let go of takes its answers with it
    (future,) = connected.describe_configs([resource]).values()
    try:
        entries = future.result(TIMEOUT_SECONDS).values()
    except KafkaException as error:
        raise click.ClickException(
            f"cannot describe {resource.name}: {error.args[0].str()}"
        ) from None
    rows = [
        {
            "name": entry.name,
            "value": entry.value,
            "source": SOURCES.get(entry.source, str(entry.source)),
            "read_only": entry.is_read_only,
            "sensitive": entry.is_sensitive,
        }
        for entry in sorted(entries, key=lambda entry: str(entry.name))
        if show_all or entry.source != 5
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(("name", "value", "source"), [tuple(row.values())[:3] for row in rows])
    else:
        click.echo("every setting is at its default; --all shows them")


@command.command("alter")
@resource_options
@click.option("--set", "set_", multiple=True, metavar="KEY=VALUE", help="Give a value.")
@click.option("--delete", multiple=True, metavar="KEY", help="Go back to the value below.")
@click.option("--append", multiple=True, metavar="KEY=VALUE", help="Add to a list.")
@click.option("--subtract", multiple=True, metavar="KEY=VALUE", help="Take from a list.")
@bootstrap_option
def alter_configs(
    client: dict[str, Any], topic: str | None, broker: str | None, **changes: tuple[str, ...]
) -> None:
    """Change settings; what is not named stays."""
    from confluent_kafka.admin import ConfigResource

    entries = [
        _entry(operation, item)
        for operation in ("set_", "delete", "append", "subtract")
        for item in changes[operation]
    ]
    if not entries:
        raise click.UsageError("nothing to change: say --set, --delete, --append or --subtract")
    kind, name = resource_type_and_name(topic, broker)
    resource = ConfigResource(kind, name, incremental_configs=entries)
    connected = admin(client)
    wait_all(connected.incremental_alter_configs([resource]), "alter")
    click.echo(f"altered {kind} {name or 'default'}")


def _entry(operation: str, item: str) -> Any:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    name, equals, value = item.partition("=")
    if not equals and operation != "delete":
        raise click.BadParameter(f"'{item}' is not KEY=VALUE", param_hint=f"--{operation}")
    kind = AlterConfigOpType[operation.rstrip("_").upper()]
    return ConfigEntry(name, value or None, incremental_operation=kind)
