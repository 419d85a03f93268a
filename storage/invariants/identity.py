"""What must hold in the files that say whose a log directory is, and how it was left.

meta.properties        readable, of version 0 or 1; ids well formed; one cluster and one node
                       over all directories of a broker, and no directory id twice
.kafka_cleanshutdown   empty (older brokers), or the one line of JSON that Kafka writes
"""

import re
from collections.abc import Sequence

from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import CLEAN_SHUTDOWN_FILE, META_PROPERTIES_FILE
from storage.invariants.finding import Finding, Findings, Severity
from storage.log_dirs import MetaProperties, read_meta_properties

_MARK = re.compile(rb'\{"version":0,"brokerEpoch":-?\d{1,19}\}')
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_RESTORE = "write it again by hand with the ids the broker had; without it a start refuses, or asks"


def audit_identity(disk: Disk, log_dir: str, findings: Findings) -> MetaProperties | None:
    """Add what is wrong with one directory's files; whose it is, None where that is not said."""
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    try:
        found = read_meta_properties(disk, log_dir)
    except CorruptFileError as error:
        findings.add(Finding(path, f"{error.reason}: a start is refused", remedy=_RESTORE))
        return None
    if found is None:
        return None
    if found.node_id < 0:
        findings.add(Finding(path, f"node id {found.node_id} is negative", remedy=_RESTORE))
    if found.directory_id is not None and not _ID.fullmatch(found.directory_id):
        problem = f"directory id {found.directory_id!r} is none"
        findings.add(Finding(path, problem, Severity.WARNING, remedy=_RESTORE))
    return found


def audit_mark(disk: Disk, log_dir: str, findings: Findings) -> bool:
    """Whether the directory was closed cleanly; adds what is wrong with the mark that says so."""
    path = f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"
    if not disk.exists(path):
        return False
    content = disk.read_file(path)
    if content and not _MARK.fullmatch(content.strip()):
        problem = "not what a broker writes; it counts as a clean shutdown of an unknown epoch"
        remedy = "none needed: the next start removes it"
        findings.add(Finding(path, problem, Severity.WARNING, remedy=remedy))
    return True


def audit_kinship(
    directories: Sequence[tuple[str, MetaProperties | None]], findings: Findings
) -> None:
    """Add where several directories cannot be of one broker."""
    known = [(path, found) for path, found in directories if found is not None]
    for path, found in known[1:]:
        first = known[0][1]
        file = f"{path}/{META_PROPERTIES_FILE}"
        if (found.cluster_id, found.node_id) != (first.cluster_id, first.node_id):
            problem = (
                f"node {found.node_id} of cluster {found.cluster_id}; {known[0][0]} is of node "
                f"{first.node_id} of cluster {first.cluster_id}"
            )
            findings.add(Finding(file, problem, remedy="give each broker its own log.dirs"))
    ids = [found.directory_id for _, found in known if found.directory_id is not None]
    for path, found in known:
        if found.directory_id is not None and ids.count(found.directory_id) > 1:
            problem = f"directory id {found.directory_id} is that of another directory too"
            remedy = "one is a copy: take it out of log.dirs"
            findings.add(Finding(f"{path}/{META_PROPERTIES_FILE}", problem, remedy=remedy))
