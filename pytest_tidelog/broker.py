"""One broker process: started, killed, restarted on the same port and data.

The process is the product itself, `tidelog start`, told by its ready line on standard output when
its listeners answer; nothing is polled. A pipe on its standard error is drained by a thread, so
that a talkative broker never blocks, and its last lines explain a start that failed.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import protocol

START_SECONDS = 60
"""How long a start may take before it is called failed: recovery of a large folder included."""
STOP_SECONDS = 30
LOG_LINES = 200
STEADY_PORTS = (15_000, 32_000)
"""Below where Linux (32768) and macOS (49152) begin to hand out ports."""
# A wheel holds the packages as `tidelog.…`, a checkout as they are.
COMMAND_MODULE = f"{protocol.__name__.removesuffix('protocol')}cli.main"


class BrokerFailed(Exception):
    """The broker process ended instead of answering; the text holds its last words."""


class Broker:
    """A Tidelog broker in a process of its own.

    `bootstrap_servers` is what clients are given, `data_dir` the folder it keeps, `ready` the
    object it printed when it answered, `metrics_url` its Prometheus page or None.
    """

    def __init__(
        self, data_dir: Path, overrides: Mapping[str, object] | None = None, metrics: bool = True
    ) -> None:
        self.data_dir = data_dir
        self.overrides = dict(overrides or {})
        self.ready: dict[str, Any] = {}
        self.command = [sys.executable, "-P", "-m", COMMAND_MODULE]
        self._metrics = metrics
        self.address = f"127.0.0.1:{steady_port()}"
        """Where it is told to listen, over restarts too."""
        self._process: subprocess.Popen[str] | None = None
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._drain: threading.Thread | None = None

    @property
    def bootstrap_servers(self) -> str:
        """host:port, the same over restarts."""
        return self.address

    @property
    def metrics_url(self) -> str | None:
        """Where Prometheus would scrape, or None."""
        return f"http://{self.ready['metrics']}/metrics" if self.ready.get("metrics") else None

    @property
    def pid(self) -> int:
        """The running process."""
        return self._running().pid

    @property
    def log(self) -> str:
        """The last lines of its log."""
        return "\n".join(self._log)

    def start(self) -> "Broker":
        """Start it and wait until its listeners answer; BrokerFailed with its last words if not."""
        process = self.spawn()
        assert process.stdout is not None
        watchdog = threading.Timer(START_SECONDS, process.kill)
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        if not line:
            code = self._ended()
            raise BrokerFailed(f"tidelog ended with {code} before it answered:\n{self.log}")
        self.ready = json.loads(line)
        self.address = next(iter(self.ready["listeners"].values()))
        return self

    def spawn(self) -> "subprocess.Popen[str]":
        """Start the process and do not wait for it."""
        assert self._process is None, "the broker runs already"
        self._log.clear()
        process = subprocess.Popen(
            [*self.command, "start", *self._arguments()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if "TIDELOG_" not in name},
            start_new_session=True,  # a Ctrl-C meant for pytest lets the fixture stop it in order
        )
        assert process.stderr is not None
        self._drain = threading.Thread(target=self._log.extend, args=(_lines(process.stderr),))
        self._drain.start()
        self._process = process
        return process

    def stop(self) -> int:
        """SIGTERM: flush, write the clean-shutdown mark. The exit code."""
        self._running().send_signal(signal.SIGTERM)
        return self._ended()

    def kill(self) -> None:
        """SIGKILL: what a crash of the process leaves behind."""
        self._running().kill()
        self._ended()

    def restart(self) -> None:
        """Stop it if it runs, then start it on the same port and data."""
        if self._process is not None:
            self.stop()
        self.start()

    def close(self) -> None:
        """Stop it if it runs."""
        if self._process is not None:
            self.stop()

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "the broker does not run; .start() or .restart() it"
        return self._process

    def _ended(self) -> int:
        process = self._running()
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        assert self._drain is not None
        self._drain.join()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        self._process = None
        return code

    def _arguments(self) -> list[str]:
        arguments = ["--listen", self.address, "--data-dir", str(self.data_dir)]
        arguments += ["--metrics", "127.0.0.1:0" if self._metrics else "off"]
        for key, value in self.overrides.items():
            arguments += ["--override", f"{key}={value}"]
        return arguments


def steady_port() -> int:
    """A free port that outgoing connections are never given, so that a restart finds it free.

    Port 0 would take one of the range clients get theirs from: while the broker is down, any
    client's connection, or what is left of one for a minute, may sit on it.
    """
    while True:
        port = random.randrange(*STEADY_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _lines(stream: IO[str]) -> "map[str]":
    return map(str.rstrip, stream)
