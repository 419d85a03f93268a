"""Open the embedded store beside the partitions it describes, or refuse before touching anything.

Log directories without their metadata are the one accident that looks like a fresh start: a
deleted, forgotten or exchanged store would have the broker serve empty topics over full
directories. So when partition directories are there, the store must be there too, and must be of
the cluster that the directories' meta.properties name.
"""

import os
from collections.abc import Callable, Sequence

from cluster import znodes
from cluster.store.embedded import EmbeddedStore
from cluster.store.port import Create, MetadataStore, NodeExists, StartupRefused

_NAMED_AT_MOST = 5


async def open_embedded_store(
    file: str,
    partition_directories: Sequence[str],
    cluster_id_on_disk: str | None,
    new_cluster_id: Callable[[], str],
) -> tuple[EmbeddedStore, str]:
    """The open store and the cluster's id, with Kafka's root paths in place.

    partition_directories are those found in all log directories, cluster_id_on_disk is what
    meta.properties says (None when there is none). A first start keeps the id found on disk.
    Raises StartupRefused.
    """
    refuse_missing_store(file, partition_directories)
    own_id = cluster_id_on_disk or new_cluster_id()
    store = await EmbeddedStore.open(file, root_nodes(own_id))
    try:
        cluster_id = await read_cluster_id(store)
        refuse_foreign_store(file, cluster_id, partition_directories, cluster_id_on_disk)
        if cluster_id is None:
            cluster_id = own_id
            await create_root_paths(store, cluster_id)
    except BaseException:
        await store.close()
        raise
    return store, cluster_id


def refuse_missing_store(file: str, partition_directories: Sequence[str]) -> None:
    """Raise StartupRefused when there are partitions and the file is missing or empty."""
    if not partition_directories:
        return
    try:
        is_there = os.path.getsize(file) > 0
    except OSError:
        is_there = False
    if not is_there:
        raise StartupRefused(
            f"{_named(partition_directories)} but the metadata store {file} is missing or empty:"
            f" restore it from a backup, or move the partition directories away to start afresh;"
            f" directories that Kafka wrote are taken over by 'tidelog import-kafka'"
        )


def refuse_foreign_store(
    file: str,
    cluster_id: str | None,
    partition_directories: Sequence[str],
    cluster_id_on_disk: str | None,
) -> None:
    """Raise StartupRefused when the store says nothing of a cluster, or tells of another one."""
    if cluster_id is None:
        if partition_directories:
            raise StartupRefused(
                f"{_named(partition_directories)} but the metadata store {file} is empty:"
                f" restore it from a backup, or move the partition directories away"
            )
        return
    if cluster_id_on_disk is not None and cluster_id_on_disk != cluster_id:
        beside = f"; {_named(partition_directories)}" if partition_directories else ""
        raise StartupRefused(
            f"the metadata store {file} is of cluster {cluster_id} but meta.properties names"
            f" cluster {cluster_id_on_disk}{beside}: put the store of that cluster back,"
            f" or point log.dirs at directories of cluster {cluster_id}"
        )


async def read_cluster_id(store: MetadataStore) -> str | None:
    """The id in /cluster/id, or None before the first start."""
    node = await store.get(znodes.CLUSTER_ID)
    return None if node is None else znodes.decode_cluster_id(node.data)


def root_nodes(cluster_id: str) -> list[Create]:
    """The paths that every Kafka broker makes at start, and the cluster's id.

    Their data is null: an empty `/latest_producer_id_block` breaks Kafka's own controllers.
    """
    nodes = [Create(path) for path in znodes.with_parents(znodes.ROOT_PATHS)]
    nodes.append(Create(znodes.CLUSTER_ID, znodes.encode_cluster_id(cluster_id)))
    return nodes


async def create_root_paths(store: MetadataStore, cluster_id: str) -> None:
    """Make the root nodes of a store that has none, in one commit."""
    try:
        await store.multi(root_nodes(cluster_id))
    except NodeExists as error:
        raise StartupRefused(
            f"the metadata store has {error.path} but no {znodes.CLUSTER_ID}: restore a backup"
        ) from error


def _named(directories: Sequence[str]) -> str:
    shown = ", ".join(directories[:_NAMED_AT_MOST])
    more = len(directories) - _NAMED_AT_MOST
    rest = f" and {more} more" if more > 0 else ""
    return f"partition directories are present ({shown}{rest})"
