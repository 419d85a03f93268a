"""tidelog start: run a broker in this process.

Exit codes: 0 after SIGTERM or Ctrl-C, 1 when it cannot start or its last log directory failed, 2
for a setting that is not allowed. Standard output gets one line, when the listeners answer.
"""

import gc
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from config.definition import ConfigError

OPTIONS: Final = {
    "listen": ("listeners", "PLAINTEXT://{}"),
    "data_dir": ("log.dirs", "{}"),
    "metrics": ("tidelog.metrics.listener", "{}"),
    "log_format": ("tidelog.log.format", "{}"),
}
"""Settings that have an option of their own, and how its value becomes theirs."""
OVERRIDE: Final = "--override"
EXIT_CONFIG: Final = 2
EXIT_FAILED: Final = 1


@click.command(name="start")
@click.argument("properties", required=False, metavar="[server.properties]")
@click.option("--override", multiple=True, metavar="KEY=VALUE", help="Set a property; repeatable.")
@click.option("--listen", metavar="HOST:PORT", help="Serve clients here; port 0 takes a free one.")
@click.option("--data-dir", metavar="DIR", help="Keep logs and metadata here.")
@click.option("--metrics", metavar="HOST:PORT|off", help="Serve Prometheus here, or nowhere.")
@click.option("--log-format", type=click.Choice(["text", "json"]), help="Log lines on stderr.")
def command(properties: str | None, override: tuple[str, ...], **flags: str | None) -> None:
    """Start a broker.

    Settings are Kafka's own: from the file, then TIDELOG_… environment variables, then options.
    """
    gc.disable()  # Nothing made while starting is garbage; the broker turns it on when it serves.
    settings = [(key, form, flags[option]) for option, (key, form) in OPTIONS.items()]
    overrides = [*override]
    if flags["listen"]:
        # One listener now: what a file says of several no longer fits, and clients would be sent
        # to an address that is not served.
        overrides = ["advertised.listeners=", "inter.broker.listener.name=", *overrides]
    overrides += [f"{key}={form.format(value)}" for key, form, value in settings if value]
    options = {OPTIONS[name][0]: _spelled(name) for name, value in flags.items() if value}
    sys.exit(run(properties, overrides, options))


def _spelled(option: str) -> str:
    return "--" + option.replace("_", "-")


def run(properties: str | None, overrides: list[str], options: Mapping[str, str]) -> int:
    """Run the broker with these settings; the exit code.

    `options` says which settings came from an option of their own: a refusal names that one.
    """
    from config.loading import load

    try:
        config = load(properties, os.environ, overrides)
    except ConfigError as error:
        if error.source == OVERRIDE:
            error.source = options.get(error.key, OVERRIDE)
        return _refused(error, EXIT_CONFIG)
    import asyncio

    from broker.assembly import Platform
    from broker.data_directories import StartFailed
    from broker.server import serve
    from broker.timed_disk import TimedDisk
    from config.keys import observability
    from runtime.clock import SystemClock
    from runtime.logs import configure

    configure(config[observability.LOG_FORMAT], config[observability.LOG_LEVEL])
    for warning in config.warnings:
        logging.getLogger(__name__).warning("%s", warning)
    clock = SystemClock()
    disk = TimedDisk(clock)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            platform = Platform(clock, disk, disk.fsync_s)
            watch_load = _recovery_bar(config[observability.LOG_FORMAT])
            return runner.run(serve(config, platform, _announce, watch_load))
    except StartFailed as error:
        return _refused(error, EXIT_FAILED)


def _refused(error: Exception, code: int) -> int:
    sys.stderr.write(f"tidelog: {error}\n")
    return code


def _announce(event: dict[str, object]) -> None:
    import json

    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _recovery_bar(log_format: str) -> Any:
    """What shows a person how far a long recovery is; None for programs."""
    if log_format != "text" or not sys.stderr.isatty():
        return None
    from cli.recovery_bar import RecoveryBar

    return RecoveryBar()


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
