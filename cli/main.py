"""The `tidelog` command: finds the module of a sub-command and imports that one only.

`tidelog start` has to answer within a fraction of a second, and the client commands need libraries
that a broker must not load, so a sub-command is a module of this package with a `command` in it,
imported when it is asked for. `--help` alone imports them all.
"""

import importlib
from typing import Final

import click

COMMANDS: Final = (
    "start",
    "topics",
    "configs",
    "groups",
    "produce",
    "consume",
    "log",
    "log-dirs",
    "import-kafka",
    "export-kafka",
    "doctor",
)


EXTRAS: Final = {"confluent_kafka": "cli", "rich": "cli", "kazoo": "zookeeper"}
"""Libraries a broker does without, and the extra that brings each."""


class LazyGroup(click.Group):
    """A group whose commands are the modules beside this one."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, its module imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; one line where a library of the extra is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise click.ClickException(
                f"this command needs {error.name}: pip install 'tidelog[{EXTRAS[error.name]}]'"
            ) from None


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"tidelog {version('tidelog')}")
        except PackageNotFoundError:
            click.echo("tidelog (a checkout)")
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)
def main() -> None:
    """Tidelog: a Kafka-compatible broker in Python, and commands for any Kafka cluster."""


if __name__ == "__main__":
    main()
