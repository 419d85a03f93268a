"""What is measured: a Tidelog broker, the floor, Apache Kafka, or a peer that runs already."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

from bench.wire import CORRELATION_ID, PRODUCE_VERSION, Connection
from protocol.headers import response_header_prefix
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from pytest_tidelog.broker import Broker

EAGER: dict[str, object] = {
    "log.retention.check.interval.ms": 1000,
    "log.initial.task.delay.ms": 1000,
    "log.cleaner.backoff.ms": 1000,
}
"""So that a figure about deletion or cleaning need not wait for minutes."""


class Target(Protocol):
    """Something that takes produce requests; `restartable` ones can be started and killed."""

    name: str
    host: str
    port: int
    restartable: bool

    @property
    def pid(self) -> int:
        """The process whose tree is measured."""

    @property
    def data_dir(self) -> Path:
        """Where its logs are; only of restartable targets."""

    def start(self) -> None:
        """Start it on the data it has; returns as soon as the process exists."""

    def stop(self, kill: bool = False) -> None:
        """Stop it in order, or kill it as a crash would."""

    def configure(self, key: str, value: object) -> None:
        """Have this setting from the next start until the wipe."""

    def wipe(self) -> None:
        """Forget all data; only while stopped."""


def wait_until_answering(target: Target, seconds: float = 120) -> Connection:
    """A connection to the target as soon as it takes one."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return Connection(target.host, target.port)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)


def free_port() -> int:
    """A port nobody listens on just now."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Tidelog:
    """This checkout's broker."""

    name = "tidelog"
    host = "127.0.0.1"
    restartable = True

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.broker = Broker(folder / "tidelog", EAGER)
        self.broker.address = f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        return self.broker.pid

    @property
    def data_dir(self) -> Path:
        return self.broker.data_dir

    def start(self) -> None:
        self.broker.spawn()

    def stop(self, kill: bool = False) -> None:
        if kill:
            self.broker.kill()
        else:
            self.broker.close()

    def configure(self, key: str, value: object) -> None:
        self.broker.overrides[key] = value

    def wipe(self) -> None:
        self.broker.overrides = dict(EAGER)
        shutil.rmtree(self.broker.data_dir, ignore_errors=True)


class Floor:
    """bench/floor.py, told the shape of the frames it will get."""

    name = "floor"
    host = "127.0.0.1"
    restartable = False

    def __init__(self, folder: Path, frame: bytes, batch: bytes, topic: str) -> None:
        partition = PartitionProduceResponse(index=0, base_offset=0, log_append_time_ms=-1)
        response = ProduceResponse(
            responses=[TopicProduceResponse(name=topic, partition_responses=[partition])]
        )
        header = response_header_prefix(response.api_key, PRODUCE_VERSION, CORRELATION_ID)
        body = header + response.encode(PRODUCE_VERSION)
        answer = len(body).to_bytes(4, "big") + body
        self._file = folder / "floor.log"
        arguments = [str(self._file), str(frame.index(batch[8:]) - 8), answer.hex()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.floor", *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def data_dir(self) -> Path:
        return self._file.parent

    def start(self) -> None:
        """It runs since it was made."""

    def stop(self, kill: bool = False) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._file.unlink(missing_ok=True)

    def configure(self, key: str, value: object) -> None:
        """It has no settings."""

    def wipe(self) -> None:
        """Its file goes when it stops."""


class Peer:
    """A broker somebody else started, named NAME=HOST:PORT:PID; only loads can be measured."""

    restartable = False

    def __init__(self, text: str) -> None:
        self.name, _, place = text.partition("=")
        self.host, port, pid = place.rsplit(":", 2)
        self.port, self._pid = int(port), int(pid)

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def data_dir(self) -> Path:
        raise LookupError(f"where {self.name} keeps its logs is not known")

    def start(self) -> None:
        """It runs already."""

    def stop(self, kill: bool = False) -> None:
        """It is not ours to stop."""

    def configure(self, key: str, value: object) -> None:
        """Nor to configure."""

    def wipe(self) -> None:
        """Nor to wipe."""


class Kafka:
    """Apache Kafka, one node that is broker and controller, from jars in a folder."""

    name = "kafka"
    host = "127.0.0.1"
    restartable = True

    def __init__(self, folder: Path, jars: Path) -> None:
        self.port = free_port()
        self._folder = folder / "kafka"
        self._classpath = f"{jars}/*"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def data_dir(self) -> Path:
        return self._folder / "data"

    def start(self) -> None:
        settings = self._folder / "server.properties"
        if not settings.exists():
            self._format(settings)
        environment = os.environ | {"KAFKA_HEAP_OPTS": ""}
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx1G",
                "-Xms1G",
                "-XX:+UseG1GC",
                "-XX:MaxGCPauseMillis=20",
                "-cp",
                self._classpath,
                "kafka.Kafka",
                str(settings),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def stop(self, kill: bool = False) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self._process.wait()
            self._process = None

    def configure(self, key: str, value: object) -> None:
        with (self._folder / "server.properties").open("a") as settings:
            settings.write(f"{key}={value}\n")

    def wipe(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _format(self, settings: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        controller = free_port()
        while controller == self.port:
            controller = free_port()
        settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}\n"
            "controller.listener.names=CONTROLLER\n"
            f"log.dirs={self._folder / 'data'}\n"
            "offsets.topic.replication.factor=1\n"
            + "".join(f"{key}={value}\n" for key, value in EAGER.items())
        )
        subprocess.run(
            [
                "java",
                "-cp",
                self._classpath,
                "kafka.tools.StorageTool",
                "format",
                "-t",
                "AAAAAAAAAAAAAAAAAAAAAQ",
                "-c",
                str(settings),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
