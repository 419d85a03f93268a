"""The embedded store as a thing to be carried: made from a plan, read whole, moved aside.

Making it is one step (`cluster.store.tables`: whole under another name, synced, renamed), so an
import that dies leaves either no store or the whole one. Moving it aside keeps it: it is the only
record of what was created here, and of the producer ids that were given out.
"""

import os
from collections.abc import Sequence

from cluster import znodes
from cluster.kafka_metadata.znode_tree import ROOTS
from cluster.store.embedded import STORE_FILE
from cluster.store.port import Operation, Znode
from cluster.store.tables import Tree

EXPORTED = ".exported-"
"""Between the store's name and the time (ms) at which it was moved aside."""


def make_store(file: str, operations: Sequence[Operation]) -> None:
    """The store is there with these nodes, durable; nothing is where it could not be made."""
    Tree.open(file, operations).close()


def read_store(file: str) -> dict[str, Znode]:
    """Every node an image is made of. StartupRefused when the file is in use or not ours."""
    tree = Tree.open(file)
    try:
        return {path: node for root in ROOTS for path, node in tree.subtree(root).items()}
    finally:
        tree.close()


def move_aside(file: str, now_ms: int) -> str:
    """The store has another name, its log folded in; the name. Durable."""
    Tree.open(file).close()
    aside = f"{file}{EXPORTED}{now_ms}"
    os.rename(file, aside)
    directory = os.open(os.path.dirname(file) or ".", os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return aside


def earlier_producer_ids(log_dir: str) -> int:
    """The first producer id that no store moved aside in this directory gave out; 0 without one."""
    following = 0
    for name in sorted(os.listdir(log_dir)):
        if not name.startswith(STORE_FILE + EXPORTED) or not name.rpartition("-")[2].isdigit():
            continue
        node = read_store(f"{log_dir}/{name}").get(znodes.PRODUCER_ID_BLOCK)
        block = znodes.decode_producer_id_block(None if node is None else node.data)
        if block is not None:
            following = max(following, block.end + 1)
    return following
