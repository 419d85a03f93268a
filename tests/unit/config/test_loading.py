"""File, environment and flags: which wins, what is warned of, what a failure says."""

from pathlib import Path

import pytest

from config.definition import ConfigError
from config.keys import log, observability
from config.listeners import Endpoint
from config.loading import load

SINGLE_NODE = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/tmp/kraft-combined-logs
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
log.retention.hours=168
log.segment.bytes=1073741824
"""


def write(folder: Path, text: str | bytes) -> str:
    path = folder / "server.properties"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_nothing_given_is_all_defaults() -> None:
    config = load(None, {})
    assert (config.static, config.warnings) == ({}, ())


def test_environment_wins_over_file_and_flags_over_both(tmp_path: Path) -> None:
    path = write(tmp_path, "log.retention.ms=1\nlog.roll.ms=1\nlog.segment.bytes=1048577\n")
    environ = {"TIDELOG_LOG_RETENTION_MS": "2", "TIDELOG_LOG_ROLL_MS": "2", "HOME": "/"}
    config = load(path, environ, ["log.retention.ms=3"])
    assert config[log.LOG_RETENTION_MS] == 3
    assert config[log.LOG_ROLL_MS] == 2
    assert config[log.LOG_SEGMENT_BYTES] == 1048577
    assert config.sources["log.retention.ms"] == "--override"
    assert config.sources["log.roll.ms"] == "environment variable TIDELOG_LOG_ROLL_MS"
    assert config.sources["log.segment.bytes"] == f"{path}:3"
    assert load(None, {}, {"log.roll.ms": "4"})[log.LOG_ROLL_MS] == 4


def test_an_own_setting_is_known_in_the_environment_by_its_short_name() -> None:
    config = load(None, {"TIDELOG_LOG_FORMAT": "json"})
    assert config[observability.LOG_FORMAT] == "json"


def test_a_file_of_a_single_self_managed_node_is_taken_with_one_warning(tmp_path: Path) -> None:
    path = write(tmp_path, SINGLE_NODE)
    config = load(path, {})
    assert config.listeners == (Endpoint("PLAINTEXT", "", 9092),)
    assert config.advertised_listeners == (Endpoint("PLAINTEXT", "localhost", 9092),)
    assert config.warnings == (
        f"Listener CONTROLLER ({path}:7) is not opened: "
        "the controller runs inside this broker and needs no port.",
    )


def test_an_unknown_name_gets_one_warning_with_the_nearest_spelling(tmp_path: Path) -> None:
    path = write(tmp_path, "log.retention.msec=5\n")
    assert load(path, {"TIDELOG_LOG_DIR_": "x"}, ["zzz=1"]).warnings == (
        "Environment variable TIDELOG_LOG_DIR_ names no setting (did you mean TIDELOG_LOG_DIR?).",
        f"Setting log.retention.msec ({path}:1) is not known and has no effect "
        "(did you mean log.retention.ms?).",
        "Setting zzz (--override) is not known and has no effect.",
    )


@pytest.mark.parametrize(
    ("environ", "override", "line"),
    [
        ({}, "num.partitions=0", "num.partitions=0 (--override): Value must be at least 1"),
        ({}, "log.roll.ms=0", "log.roll.ms=0 (--override): must be greater than or equal to 1"),
        ({}, "nothing", "nothing (--override): expected KEY=VALUE"),
        (
            {"TIDELOG_ZOOKEEPER_CONNECT": "a:1"},
            "num.partitions=1",
            "zookeeper.connect=a:1 (environment variable TIDELOG_ZOOKEEPER_CONNECT): "
            "clusters over ZooKeeper are not built yet: remove this line",
        ),
    ],
)
def test_a_failure_is_one_line_with_key_value_rule_and_source(
    environ: dict[str, str], override: str, line: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, environ, [override])
    assert str(caught.value) == line


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert str(caught.value) == f"{path}: cannot read this file: No such file or directory"
    path = write(tmp_path, "a=1\nb=\\u1\n")
    with pytest.raises(ConfigError, match=r"Malformed") as caught:
        load(path, {})
    assert caught.value.source == f"{path}:2"


def test_a_file_may_be_utf_8_or_what_java_assumes(tmp_path: Path) -> None:
    assert load(write(tmp_path, "log.dirs=/dätä\n"), {}).log_dirs == ("/dätä",)
    assert load(write(tmp_path, "log.dirs=/dätä\n".encode("latin-1")), {}).log_dirs == ("/dätä",)
