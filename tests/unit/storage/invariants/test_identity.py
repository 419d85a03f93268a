"""Whose a directory is, and how it was left."""

import pytest

from storage.audit import Question, audit_log_dirs
from storage.log_dirs import MetaProperties, write_meta_properties
from tests.support.fault_disk import FaultDisk
from tests.support.kept_logs import found, kept_log, problems
from tests.support.log_harness import LOG_DIR

META = f"{LOG_DIR}/meta.properties"
MARK = f"{LOG_DIR}/.kafka_cleanshutdown"
IDS = ("Mq01w22PRYSZN3vS7nX1CA", "kzEWHiXdTWWGvVF1d5aJDw", "V47rwh2hRDiSOaUWtUgM2Q")


def test_a_directory_of_nobody_and_one_of_a_broker_are_in_order() -> None:
    disk = kept_log()
    assert found(disk) == []
    write_meta_properties(disk, LOG_DIR, MetaProperties(1, 3, IDS[0], IDS[1]), 0)
    assert found(disk) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"version=9\nnode.id=1\n", "unrecognized version 9"),
        (b"version=1\n", "node.id is missing"),
        (b"version=1\nnode.id=x\n", "a start is refused"),
        (b"version=1\nnode.id=-4\n", "node id -4 is negative"),
        (b"version=1\nnode.id=1\ndirectory.id=short\n", "directory id 'short' is none"),
    ],
)
def test_an_identity_that_cannot_be_is_found(text: bytes, problem: str) -> None:
    disk = kept_log()
    disk.write_file(META, text)
    assert problem in problems(disk)


@pytest.mark.parametrize("content", [b"", b'{"version":0,"brokerEpoch":-1}'])
def test_the_marks_of_all_brokers_are_in_order(content: bytes) -> None:
    disk = kept_log()
    disk.write_file(MARK, content)
    assert found(disk) == []


def test_any_other_mark_is_told() -> None:
    disk = kept_log()
    disk.write_file(MARK, b'{"version":0,"brokerEpocg":7}')
    assert "not what a broker writes" in problems(disk)


def two(first: MetaProperties, second: MetaProperties) -> str:
    disk = FaultDisk()
    for path, identity in (("/a", first), ("/b", second)):
        disk.makedirs(path)
        write_meta_properties(disk, path, identity, 0)
    return "\n".join(map(str, audit_log_dirs(disk, ["/a", "/b"], Question())))


def test_directories_of_one_broker_are_of_one_cluster_and_one_node() -> None:
    base = MetaProperties(1, 3, IDS[0], IDS[1])
    assert two(base, base._replace(directory_id=IDS[2])) == ""
    assert "is of node 3" in two(base, base._replace(directory_id=IDS[2], node_id=4))
    assert "of cluster" in two(base, base._replace(directory_id=IDS[2], cluster_id=IDS[2]))
    assert "that of another directory too" in two(base, base)
