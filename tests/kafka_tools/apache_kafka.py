"""A real Kafka broker, with KRaft or ZooKeeper, and Kafka's own command line tools.

The jars come from Maven Central at first use and are kept in `bench/results/jars`.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_tidelog.broker import steady_port

START_SECONDS = 60
STOP_SECONDS = 60
FOLDER = Path(__file__).parent.parent.parent / "bench" / "results" / "jars"
# As a control plane without it: the last in-sync replica stays one.
WITHOUT_ELR = ("--feature", "eligible.leader.replicas.version=0")
# The client compiler only: these processes live for seconds.
JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def run_tool(jars: Path, main_class: str, *arguments: str) -> str:
    """What a tool prints; AssertionError with all of it where the tool fails."""
    command = [*JAVA, "-cp", f"{jars}/*", main_class, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class ApacheKafka:
    """A broker of its own, with node id 1 and everything below one folder.

    With `zookeeper` (host:port/path) it is a broker of a ZooKeeper cluster, else a KRaft node that
    is broker and controller.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        jars: Path,
        folder: Path,
        settings: Mapping[str, object],
        zookeeper: str | None = None,
        options: Sequence[str] = (),
        directories: int = 1,
    ) -> None:
        self.port = steady_port()
        self.data_dirs = [folder / f"data{number or ''}" for number in range(directories)]
        self.data_dir = self.data_dirs[0]
        self.zookeeper = zookeeper
        self._jars = jars
        self._folder = folder
        self._settings = dict(settings)
        self._options = options
        self._controller = steady_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **settings: object) -> None:
        """Start it, its storage formatted the first time; it answers some seconds later.

        Settings given here hold for this run, `_` in their names for `.`.
        """
        file = self._folder / "server.properties"
        is_new = not self._folder.exists()
        self._folder.mkdir(parents=True, exist_ok=True)
        own = {key.replace("_", "."): value for key, value in settings.items()}
        own["log.dirs"] = ",".join(map(str, self.data_dirs))
        properties = self._settings | self._control_plane() | own
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        if is_new and self.zookeeper is None:
            options = ("format", *self._options, "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file))
            run_tool(self._jars, "kafka.tools.StorageTool", *options)
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*JAVA, "-cp", f"{self._jars}/*", "kafka.Kafka", str(file)],
                stdout=log,
                stderr=log,
                env=os.environ | {"KAFKA_HEAP_OPTS": ""},
            )

    def _control_plane(self) -> dict[str, object]:
        listener = f"PLAINTEXT://{self.host}:{self.port}"
        if self.zookeeper is not None:
            return {"broker.id": 1, "zookeeper.connect": self.zookeeper, "listeners": listener}
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{self.host}:{self._controller}",
            "listeners": f"{listener},CONTROLLER://{self.host}:{self._controller}",
            "controller.listener.names": "CONTROLLER",
        }

    def wait_until_answering(self) -> None:
        """Return when it takes connections; RuntimeError with its log if it never does."""
        assert self._process is not None
        wait_for_port(self.port, self._process, self._folder / "broker.log")

    def stop(self) -> None:
        """Stop it in order; killed if it does not end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            end(self._process)
            self._process = None

    def kill(self) -> None:
        """SIGKILL: what a crash of the process leaves behind."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None


class ZooKeeper:
    """A ZooKeeper server on its own, from the jars that a Kafka with ZooKeeper comes with."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self.port = steady_port()
        self.address = f"127.0.0.1:{self.port}"
        self._jars = jars
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Serve once this returns."""
        self._folder.mkdir(parents=True)
        file = self._folder / "zoo.cfg"
        file.write_text(
            f"dataDir={self._folder}/data\nclientPort={self.port}\ntickTime=500\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
        )
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        with (self._folder / "zookeeper.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*JAVA, "-cp", f"{self._jars}/*", main_class, str(file)], stdout=log, stderr=log
            )
        wait_for_port(self.port, self._process, self._folder / "zookeeper.log")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            end(self._process)
            self._process = None


def wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return when the process takes connections; RuntimeError with its log if it never does."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                text = log.read_text()
                raise RuntimeError(f"it did not start:\n{text[-4000:]}") from None
            time.sleep(0.05)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process that was told to end; killed if it does not."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
