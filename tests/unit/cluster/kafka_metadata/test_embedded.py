"""The store as a thing to be made, read and moved aside."""

import os
from pathlib import Path

import pytest

from cluster import znodes
from cluster.kafka_metadata.embedded import (
    EXPORTED,
    earlier_producer_ids,
    make_store,
    move_aside,
    read_store,
)
from cluster.store.embedded import STORE_FILE
from cluster.store.opening import root_nodes
from cluster.store.port import Operation, Set, StartupRefused
from cluster.znodes import ProducerIdBlock


def nodes(last_id: int) -> list[Operation]:
    block = znodes.encode_producer_id_block(ProducerIdBlock(1, 0, last_id))
    return [*root_nodes("neWjG8c6QXGTHmQX52fApw"), Set(znodes.PRODUCER_ID_BLOCK, block)]


def test_what_was_made_is_read(tmp_path: Path) -> None:
    file = str(tmp_path / STORE_FILE)
    make_store(file, nodes(999))
    found = read_store(file)
    assert znodes.decode_cluster_id(found[znodes.CLUSTER_ID].data) == "neWjG8c6QXGTHmQX52fApw"
    assert os.listdir(tmp_path) == [STORE_FILE]


def test_a_store_moved_aside_keeps_its_producer_ids(tmp_path: Path) -> None:
    file = str(tmp_path / STORE_FILE)
    assert earlier_producer_ids(str(tmp_path)) == 0
    for now_ms, last_id in ((5, 1999), (7, 4999), (9, 2999)):
        make_store(file, nodes(last_id))
        assert move_aside(file, now_ms) == f"{file}{EXPORTED}{now_ms}"
        assert not os.path.exists(file)
    (tmp_path / f"{STORE_FILE}{EXPORTED}unknown").write_text("not read")
    assert earlier_producer_ids(str(tmp_path)) == 5000


def test_a_store_in_use_is_refused(tmp_path: Path) -> None:
    from cluster.store.tables import Tree

    file = str(tmp_path / STORE_FILE)
    tree = Tree.open(file, nodes(1))
    with pytest.raises(StartupRefused, match="in use by another process"):
        move_aside(file, 1)
    tree.close()
    assert os.path.exists(file)
