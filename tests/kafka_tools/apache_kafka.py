"""A real Kafka broker, one node that is broker and controller, and Kafka's own command line tools.

The jars come from Maven Central at first use and are kept in `bench/results/jars`.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 60
FOLDER = Path(__file__).parent.parent.parent / "bench" / "results" / "jars"
# The client compiler only: these processes live for seconds.
JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def run_tool(jars: Path, main_class: str, *arguments: str) -> str:
    """What a tool prints; AssertionError with all of it where the tool fails."""
    command = [*JAVA, "-cp", f"{jars}/*", main_class, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class ApacheKafka:
    """A broker of its own, with node id 1 and everything below one folder."""

    host = "127.0.0.1"

    def __init__(self, jars: Path, folder: Path, settings: Mapping[str, object]) -> None:
        self.port = _free_port()
        self.data_dir = folder / "data"
        self._jars = jars
        self._folder = folder
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Format its storage and start it; it answers some seconds later."""
        self._folder.mkdir(parents=True)
        controller = _free_port()
        listeners = f"PLAINTEXT://{self.host}:{self.port},CONTROLLER://{self.host}:{controller}"
        settings = self._settings | {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{self.host}:{controller}",
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "log.dirs": self.data_dir,
        }
        file = self._folder / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        # As a control plane without it: the last in-sync replica stays one.
        plain = ("--feature", "eligible.leader.replicas.version=0")
        options = ("format", *plain, "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file))
        run_tool(self._jars, "kafka.tools.StorageTool", *options)
        with (self._folder / "broker.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*JAVA, "-cp", f"{self._jars}/*", "kafka.Kafka", str(file)],
                stdout=log,
                stderr=log,
                env=os.environ | {"KAFKA_HEAP_OPTS": ""},
            )

    def wait_until_answering(self) -> None:
        """Return when it takes connections; RuntimeError with its log if it never does."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return
            except OSError:
                assert self._process is not None
                if time.monotonic() > deadline or self._process.poll() is not None:
                    log = (self._folder / "broker.log").read_text()
                    raise RuntimeError(f"Kafka did not start:\n{log[-4000:]}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it in order; killed if it does not end."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
