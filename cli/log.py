"""tidelog log: look into the files of a data directory, and rescue what is right in a damaged one.

Each sub-command is a module of its own, imported when it is asked for.
"""

import importlib
from typing import Final

import click

COMMANDS: Final = ("dump", "verify", "estimate", "repair")


class _FileCommands(click.Group):
    """The commands by the names of their modules."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, its module imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{cmd_name}")
        command: click.Command = module.command
        return command


@click.group(name="log", cls=_FileCommands)
def command() -> None:
    """Look into log files of Tidelog or Kafka, and rescue what is right in damaged ones."""
