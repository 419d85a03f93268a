"""The levels of this process's loggers, by the level names Kafka uses.

A change lasts until the broker stops, as in Kafka. A level of Python that Kafka has no name for is
told as the next lower one it has.
"""

import logging
from typing import Protocol

ROOT = "root"
TRACE = 5
LEVELS = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
logging.addLevelName(TRACE, "TRACE")


class LoggerLevels(Protocol):
    """Where log levels are read and set."""

    def levels(self) -> dict[str, str]:
        """The effective level of every logger, the root among them."""

    def set_level(self, name: str, level: str | None) -> None:
        """Give a logger a level of `LEVELS`; None lets it inherit again."""


class PythonLoggers:
    """`LoggerLevels` of the standard library's loggers."""

    def levels(self) -> dict[str, str]:
        """The effective level of every logger that exists, the root among them."""
        known = logging.root.manager.loggerDict
        levels = {
            name: _name(logger.getEffectiveLevel())
            for name, logger in known.items()
            if isinstance(logger, logging.Logger)
        }
        levels[ROOT] = _name(logging.root.getEffectiveLevel())
        return levels

    def set_level(self, name: str, level: str | None) -> None:
        """Give a logger a level of `LEVELS`; None lets it inherit again."""
        logger = logging.root if name == ROOT else logging.getLogger(name)
        logger.setLevel(logging.NOTSET if level is None else LEVELS[level])


def _name(number: int) -> str:
    found = "TRACE"
    for name, level in LEVELS.items():
        if number >= level:
            found = name
    return found
