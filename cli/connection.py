"""How the client commands reach a cluster: one set of options, one kind of error.

Everything here is librdkafka through confluent-kafka, so that the commands work against any Kafka
broker and what they show is what a client sees.
"""

import functools
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
TIMEOUT_SECONDS = 30
CONNECT_SECONDS = 3
SILENT: dict[str, Any] = {"log_level": 0}
"""librdkafka writes its own log to stderr; a command says what went wrong in one line instead."""

Command = TypeVar("Command", bound=Callable[..., Any])


def bootstrap_option(function: Command) -> Command:
    """The two options every client command has; they arrive as one `client: dict`."""

    @functools.wraps(function)
    def call(*, bootstrap_server: str, property_: tuple[str, ...], **rest: Any) -> Any:
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap_server, **SILENT}
        for item in property_:
            key, equals, value = item.partition("=")
            if not equals:
                raise click.BadParameter(f"'{item}' is not KEY=VALUE", param_hint="-X")
            settings[key] = value
        return function(client=settings, **rest)

    decorated = click.option(
        "-b",
        "--bootstrap-server",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        envvar="TIDELOG_BOOTSTRAP_SERVER",
        metavar="HOST:PORT",
        help="Any broker of the cluster.",
    )(call)
    return click.option(  # type: ignore[return-value]  # click keeps the function it decorates
        "-X",
        "property_",
        multiple=True,
        metavar="KEY=VALUE",
        help="A librdkafka property, for security settings and the like; may be repeated.",
    )(decorated)


def json_option(function: Command) -> Command:
    """--json: one JSON document on standard output instead of tables."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        function
    )


def admin(client: dict[str, Any]) -> "AdminClient":
    """An admin client that has spoken with the cluster; one line of error when nobody answers."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    check_reachable(client)
    connected = AdminClient(client)
    try:
        connected.list_topics(topic="", timeout=10)
    except KafkaException as error:
        raise unreachable(client, kafka_error(error).str()) from None
    return connected


def check_reachable(client: dict[str, Any]) -> None:
    """Tell at once when nobody listens; librdkafka would go on trying until its time is up."""
    refusals = []
    for address in client["bootstrap.servers"].split(","):
        try:
            socket.create_connection(split_address(address), CONNECT_SECONDS).close()
            return
        except OSError as error:
            refusals.append(error.strerror or str(error))
    raise unreachable(client, refusals[0])


def split_address(text: str) -> tuple[str, int]:
    """(host, port) of HOST:PORT; a usage error where there is no port."""
    host, _, port = text.strip().rpartition(":")
    if not port.isdigit():
        raise click.UsageError(f"'{text}' is not HOST:PORT")
    return host.strip("[]"), int(port)


def unreachable(client: dict[str, Any], reason: str) -> click.ClickException:
    """What to say when no broker answers."""
    address = client["bootstrap.servers"]
    return click.ClickException(
        f"no broker answers at {address} ({reason}); is one running there?"
        f" 'tidelog doctor -b {address}' looks closer"
    )


def kafka_error(error: "KafkaException") -> "KafkaError":
    """The librdkafka error inside an exception."""
    inner: KafkaError = error.args[0]
    return inner


def wait_all(futures: dict[Any, Any], verb: str) -> None:
    """Wait for an admin call's answers, one per topic or resource; fail with all that failed."""
    from confluent_kafka import KafkaException

    failures = []
    for item, future in futures.items():
        try:
            future.result(TIMEOUT_SECONDS)
        except KafkaException as error:
            inner = kafka_error(error)
            failures.append(f"cannot {verb} {named(item)}: {inner.name()}: {inner.str()}")
    if failures:
        raise click.ClickException("\n".join(failures))


def named(item: Any) -> str:
    """A topic's name, or "topic x" and "broker 1" for what settings belong to."""
    if isinstance(item, str):
        return item
    return f"{item.restype.name.lower()} {item.name or 'default'}"
