"""Putting a cleaned segment in the place of those it was made of.

```text
 1   00…0.log.cleaned   and indexes, complete, durable, names too     made by the cleaner
 2   00…0.log.swap      each file renamed, .log first
 3   00…0.log.deleted   the files of every old segment, oldest first; snapshots between them
 4   00…0.log           each file renamed
 5   the directory synced                                             by whoever works next
```
Steps 2 to 4 are one turn of the loop: nothing is truncated or deleted between them, so that no
crash can find a `.swap` beside records that came after it. Stopped in between, a start does:

    in 2       a `.cleaned` file is left: all of both kinds removed, the old segments serve
    in 3, 4    only `.swap` is left: old files within its offsets removed, the swap completed

Names change on the disk in the order they were changed, or not at all: that much is asked of the
file system, as Kafka asks it. The bytes are durable before the first rename, so a power cut finds
the old segments or the new one, each whole. What is removed later was out of use before step 5.

Readers that hold a slice of an old file keep it. The generation stays: offsets, and what they name,
are as before. Source: LocalLog.replaceSegments (4.3).
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from storage.filenames import CLEANED, NO_SUFFIX, SWAP, parse_segment_file_name
from storage.jobs import Job
from storage.log.deletion import discard_segments
from storage.log.recovery import segment_settings
from storage.segment.file_set import SegmentFiles
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from runtime.disk import Disk
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)


def swap_in(
    log: "PartitionLog", base_offset: int, replaced: Sequence[int], now_ms: int
) -> Sequence[Job] | None:
    """The `.cleaned` segment at a base offset takes the place of these segments, by base offset.

    None, and nothing happened, if the log does not have just these any more. The job removes the
    old files; on the loop, a few ms for as many segments as a group holds.
    """
    old = log.segments.between(replaced[0], replaced[-1])
    if [segment.base_offset for segment in old] != list(replaced) or log.segments.active in old:
        return None
    files = SegmentFiles(log.disk, log.environment.pool, CLEANED)
    new = Segment.open(
        files, log.directory, base_offset, segment_settings(log.config), now_ms, existing=True
    )
    new.change_suffix(SWAP)
    log.segments.replace(old, new)
    log.bound_places = [None, None, None]
    jobs = discard_segments(log, old)
    for segment in old[1:]:
        log.producers.delete_snapshot(segment.base_offset)
    new.change_suffix(NO_SUFFIX)
    logger.info(
        "%s Swapped in cleaned segment %d for segment(s) %s",
        log.prefix,
        base_offset,
        ",".join(map(str, replaced)),
    )
    return jobs


def remove_cleaned(disk: "Disk", directory: str) -> None:
    """Remove what a cleaning that is over left in a partition's directory."""
    for name in disk.listdir(directory):
        parsed = parse_segment_file_name(name)
        if parsed is not None and parsed.suffix == CLEANED:
            disk.unlink(f"{directory}/{name}")
