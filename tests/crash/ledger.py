"""What the users of one partition know of it: the model a started log is compared with.

    batches        what was appended, as the log is to have it now
    under_way      a batch whose append has not come back
    ever           every batch that a power cut may still bring back, of whatever past
    promised_end   what was flushed, or acknowledged under group commit: no power cut takes it
    cut_to         a truncation that may have happened or not
    start          where readers were told the log begins; `kept_start` what a checkpoint says

The order of writing things down is that of a careful client: what may happen is noted before the
log is called, what was promised only after the log said so. So the ledger is right at every
moment between two changes of the disk.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from protocol.records.batch import RecordBatch
from protocol.records.control import parse_end_transaction_marker


class Written(NamedTuple):
    """One batch; `commit` is what a marker says, None for data. Keys are None or one a value."""

    offset: int
    next_offset: int
    values: tuple[bytes | None, ...]
    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    commit: bool | None = None
    leader_epoch: int = 0

    @property
    def width(self) -> int:
        """How many offsets it spans, records that compaction took included."""
        return self.next_offset - self.offset


def key_of(value: bytes) -> bytes:
    """The key of a value on a compacted topic: one of a few, so that many are overwritten."""
    return b"key %d" % (int(value.partition(b"-")[0]) % 4)


def written(batch: RecordBatch) -> Written:
    """A batch read back, as the ledger has it."""
    marker = parse_end_transaction_marker(batch) if batch.is_control else None
    values = () if batch.is_control else tuple(record.value for record in batch.records())
    return Written(
        batch.base_offset,
        batch.next_offset,
        values,
        batch.producer_id,
        batch.producer_epoch if batch.producer_id >= 0 else -1,
        batch.base_sequence,
        batch.is_transactional,
        None if marker is None else marker.commit,
        batch.leader_epoch,
    )


class Ledger:
    """See the module. One for each life of a topic's name."""

    def __init__(self, topic_id: bytes, *, compacted: bool = False) -> None:
        self.topic_id = topic_id
        self.compacted = compacted
        self.batches: list[Written] = []
        self.end = 0
        self.under_way: Written | None = None
        self.ever: set[Written] = set()
        self.seen: dict[int, Written] = {}
        self.promised_end = 0
        self.cut_to: int | None = None
        self.start = self.kept_start = 0
        self.uncertain = False
        """A power cut came, and no start has told yet what it left."""

    # What happens, in the order of a careful client.

    def will_append(self, batch: Written) -> None:
        """It may be there from now on."""
        self.under_way = batch
        self.ever.add(batch)

    def appended(self) -> None:
        """It is."""
        assert self.under_way is not None
        for offset in range(self.under_way.offset, self.under_way.next_offset):
            known = self.seen.get(offset)
            assert known in (None, self.under_way), f"offset {offset} was read as {known}"
        self.batches.append(self.under_way)
        self.end = self.under_way.next_offset
        self.under_way = None

    def read_to(self, high_watermark: int) -> None:
        """A consumer has seen everything below the high watermark."""
        for batch in reversed(self.batches):
            if batch.offset in self.seen:
                break
            if batch.next_offset <= high_watermark:
                self.seen.update(dict.fromkeys(range(batch.offset, batch.next_offset), batch))

    def will_cut(self, offset: int) -> None:
        """Everything from here on may go."""
        self.cut_to = offset
        self.promised_end = min(self.promised_end, offset)
        self.seen = {at: batch for at, batch in self.seen.items() if at < offset}

    def was_cut(self, end_offset: int) -> None:
        """It went; a power cut brings it back until the log is flushed."""
        self.cut_to = None
        self.end = end_offset
        self.promised_end = min(self.promised_end, end_offset)
        self.batches = [batch for batch in self.batches if batch.next_offset <= end_offset]
        self.start = min(self.start, end_offset)
        self.kept_start = min(self.kept_start, end_offset)

    def flushed(self, end_offset: int) -> None:
        """All below is durable, and with it every truncation before: no other past comes back."""
        self.promised_end = max(self.promised_end, end_offset)
        self.ever = set(self.batches)
        if self.under_way is not None:
            self.ever.add(self.under_way)

    def settle(
        self, batches: Iterable[Written], start: int, end_offset: int, flushed_end: int
    ) -> None:
        """A start told what there is; the world goes on from there."""
        self.batches = [one for one in self.batches if one.next_offset <= start] + list(batches)
        self.ever.update(self.batches)
        self.end = end_offset
        self.seen = {at: batch for at, batch in self.seen.items() if at < end_offset}
        self.under_way = self.cut_to = None
        self.promised_end = flushed_end
        self.start = start
        self.kept_start = min(self.kept_start, start)
        self.uncertain = False

    # What follows from it.

    def next_sequence(self, producer_id: int, epoch: int) -> int:
        """What this producer sends next."""
        for batch in reversed(self.batches):
            if (batch.producer_id, batch.epoch) == (producer_id, epoch) and batch.commit is None:
                return batch.sequence + batch.width
        return 0

    def is_open(self, producer_id: int) -> bool:
        """Whether this producer has begun a transaction and not ended it."""
        for batch in reversed(self.batches):
            if batch.producer_id == producer_id and batch.transactional:
                return batch.commit is None
        return False

    # What a start must have found.

    def check_after_kill(
        self, found: Sequence[Written], start: int, *, believed: bool = True
    ) -> None:
        """Everything acknowledged is there, nothing else but what was under way.

        `believed`: the checkpoints were, and so the log starts where they say at least.
        """
        if self.uncertain:
            self.check_after_power_cut(found, start, believed=believed)
            return
        if self.compacted:
            self._check_latest(found, self.end)
            return
        expected = [batch for batch in self.batches if batch.next_offset > start]
        self._check_start(start, believed)
        if self.cut_to is not None:
            least = [batch for batch in expected if batch.next_offset <= self.cut_to]
            assert list(found) == expected[: len(found)], "a cut left something else"
            assert len(found) >= len(least), f"the cut to {self.cut_to} took more: {found}"
            return
        allowed = [expected]
        if self.under_way is not None and self.under_way.next_offset > start:
            allowed.append([*expected, self.under_way])
        assert list(found) in allowed, differences(expected, found)

    def check_after_power_cut(
        self, found: Sequence[Written], start: int, *, believed: bool = True
    ) -> None:
        """Everything promised is there, and nothing that never was; no offset is missing.

        Pages that a drive refused while the machine lived on may leave a hole: nobody can tell it
        from a natural one, and what follows it is kept.
        """
        if self.compacted:
            self._check_latest(found, self.promised_end)
            return
        self._check_start(start, believed)
        for batch in found:
            assert batch in self.ever, f"{batch} was never written, or is long overwritten"
        for batch, following in pairwise(found):
            adjoin = batch.next_offset == following.offset
            assert adjoin or self.uncertain, f"a hole: {batch} before {following}"
        held = set(found)
        for batch in self.batches:
            if start < batch.next_offset <= self.promised_end:
                assert batch in held, f"{batch} was promised, up to {self.promised_end}"

    def _check_latest(self, found: Sequence[Written], promised_end: int) -> None:
        """The latest value of each key below an offset is there, or a later one."""
        ever = {value for batch in self.ever for value in batch.values}
        values = [value for batch in found for value in batch.values]
        assert set(values) <= ever, f"{set(values) - ever} were never written"
        assert len(set(values)) == len(values), f"something is there twice: {values}"
        order = {value: at for at, value in enumerate(self._values(self.end + 1))}
        latest = {key_of(value): order.get(value, len(order)) for value in values if value}
        end_offset = promised_end if self.cut_to is None else min(promised_end, self.cut_to)
        for value in self._values(end_offset, self.start):
            at = latest.get(key_of(value), -1)
            assert at >= order[value], f"{value!r} and all that follows of its key are gone"

    def _values(self, end_offset: int, start: int = 0) -> list[bytes]:
        """Every value of the batches between two offsets, in its order."""
        batches = [
            one for one in self.batches if start <= one.offset < one.next_offset <= end_offset
        ]
        return [value for batch in batches for value in batch.values if value]

    def _check_start(self, start: int, believed: bool) -> None:
        least = self.kept_start if believed else 0
        assert least <= start <= self.start, f"it starts at {start}, not in {least}..{self.start}"


def differences(expected: Sequence[Written], found: Sequence[Written]) -> str:
    """What is missing and what is too much."""
    missing = [batch for batch in expected if batch not in found]
    strange = [batch for batch in found if batch not in expected]
    return f"missing {missing}, not expected {strange}"
