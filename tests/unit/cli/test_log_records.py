"""Records as items."""

from cli.log_records import MAX_SHOWN_BYTES, record_items
from protocol.internal import consumer_offsets as group
from protocol.records.batch import parse_batch
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record


def items(
    *records: Record, topic: str = "orders", control: bool = False
) -> list[dict[str, object]]:
    batch = parse_batch(build_batch(records, is_control=control, is_transactional=control))
    return list(record_items(batch, topic))


def test_keys_and_values_are_text_and_long_ones_are_cut() -> None:
    long = b"x" * (MAX_SHOWN_BYTES + 5)
    (item,) = items(Record(0, 7, b"k\xff", long, [("h", None)]))
    assert (item["key"], item["timestamp"], item["headers"]) == ("k\\xff", 7, [["h", None]])
    assert str(item["value"]).endswith(f"… ({len(long)} bytes)")


def test_offset_commits_are_decoded_with_their_topic_id() -> None:
    key = group.RECORDS.encode_key(group.OffsetCommitKey(group="g", topic="t", partition=1))
    value = b"\0\4" + group.OffsetCommitValue(offset=9, topic_id=bytes(15) + b"\1").encode(4)
    first, second = items(
        Record(0, 7, key, value, []), Record(1, 7, key, None, []), topic="__consumer_offsets"
    )
    assert first["type"] == "OffsetCommit"
    assert first["key"] == {"group": "g", "topic": "t", "partition": 1}
    assert isinstance(first["value"], dict)
    assert (first["value"]["offset"], first["value"]["topic_id"]) == (9, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert second["value"] is None


def test_members_of_a_group_are_decoded_too() -> None:
    member = group.ClassicMember(member_id="m", subscription=b"\xff")
    key = group.RECORDS.encode_key(group.GroupMetadataKey(group="g"))
    value = b"\0\3" + group.GroupMetadataValue(members=[member]).encode(3)
    (item,) = items(Record(0, 7, key, value, []), topic="__consumer_offsets")
    assert isinstance(item["value"], dict)
    assert item["value"]["members"][0]["subscription"] == "\\xff"


def test_what_is_no_record_of_the_topic_is_shown_as_it_is() -> None:
    (item,) = items(Record(0, 7, b"\0\x63", b"v", []), topic="__consumer_offsets")
    assert "record type 99" in str(item["undecodable"])
    assert item["value"] == "v"


def test_markers_are_named_and_a_nameless_one_says_so() -> None:
    marker = build_end_transaction_marker(
        EndTransactionMarker(True, 0), producer_id=1, producer_epoch=0, timestamp=5
    )
    (item,) = record_items(parse_batch(marker), "orders")
    assert item["marker"] == "COMMIT"
    (item,) = items(Record(0, 7, b"", b"", []), control=True)
    assert "no type" in str(item["marker"])
    (item,) = items(Record(0, 7, b"\0\0\0\x09", b"", []), control=True)
    assert item["marker"] == "9"


def test_records_that_cannot_be_read_are_an_error() -> None:
    batch = build_batch([Record(0, 7, b"k", b"v", [])])
    batch[57:61] = (2).to_bytes(4, "big")
    (item,) = record_items(parse_batch(batch), "orders")
    assert "records cannot be read" in str(item["error"])
