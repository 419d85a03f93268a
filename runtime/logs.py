"""The process's own log: lines on stderr, as text for people or as JSON for programs.

Peers decide how often some lines would be written (garbage on a socket, refused connections), so
those go through an `Occasional`: a burst is written, the rest is counted and told with the next
line.
"""

import logging
import sys
from collections.abc import Callable
from typing import TextIO

TEXT_FORMAT = "[%(asctime)s,%(msecs)03d] %(levelname)s %(message)s (%(name)s)"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and exception when there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line without line breaks."""
        import json  # only who asked for JSON lines pays for it at start

        fields: dict[str, object] = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


def configure(style: str, level: str, stream: TextIO | None = None) -> None:
    """Send everything of `level` (a name) and above to `stream`, stderr by default.

    `style` is "text" or "json". Replaces what an earlier call set up.
    """
    if style not in ("text", "json"):
        raise ValueError(f"log format {style!r}: one of text, json")
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(
        JsonFormatter() if style == "json" else logging.Formatter(TEXT_FORMAT, TIME_FORMAT)
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


class Occasional:
    """A logger for lines that a peer could cause without end.

    `burst` lines at once, then one every `interval_s`; a written line says how many were not.
    """

    __slots__ = ("_burst", "_interval_s", "_logger", "_monotonic", "_spent_until", "suppressed")

    def __init__(
        self,
        logger: logging.Logger,
        monotonic: Callable[[], float],
        interval_s: float = 1.0,
        burst: int = 10,
    ) -> None:
        self._logger = logger
        self._monotonic = monotonic
        self._interval_s = interval_s
        self._burst = burst
        self._spent_until = 0.0
        self.suppressed = 0

    def warning(self, message: str, *args: object) -> None:
        """Write the line as a warning, or count it."""
        now = self._monotonic()
        spent_until = max(self._spent_until, now) + self._interval_s
        if spent_until > now + self._interval_s * self._burst:
            self.suppressed += 1
            return
        self._spent_until = spent_until
        if self.suppressed:
            message += " (and %d such lines not written)"
            args = (*args, self.suppressed)
            self.suppressed = 0
        self._logger.warning(message, *args)
