import struct
from typing import Any

import pytest

from protocol.errors import ErrorCode, MalformedFrame
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol.schema.message import (
    REQUESTS,
    Failure,
    Message,
    Request,
    Response,
    request_type,
)
from tests.unit.protocol.schema.toys import Crowd, Empty, Inner, Parcel, Toy


class Slice:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_what_is_left_out_has_its_default_fresh_each_time() -> None:
    first, second = Toy(), Toy()
    assert (first.small, first.name, first.nickname, first.late) == (-1, "", None, 7)
    assert first.numbers == []
    first.numbers.append(1)
    first.inner.number = 5
    assert second.numbers == []
    assert second.inner == Inner()
    assert first.maybe_inner is None
    assert first.tagged_inner is None


def test_constructors_take_keywords_of_their_fields_only() -> None:
    with pytest.raises(TypeError, match="nope"):
        Inner(nope=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Inner(1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Inner().nope = 1  # type: ignore[attr-defined]
    assert Empty() == Empty()


def test_messages_are_equal_by_type_and_fields_and_not_hashable() -> None:
    assert Inner(number=1) == Inner(number=1)
    assert Inner(number=1) != Inner(number=2)
    assert Inner() != Empty()
    assert Parcel(records=b"ab") == Parcel(records=memoryview(b"ab"))
    with pytest.raises(TypeError):
        hash(Inner())


def test_a_message_shows_its_fields_but_not_its_megabytes() -> None:
    assert repr(Inner(number=3)) == "Inner(number=3, label=None)"
    assert "<1000 bytes>" in repr(Parcel(records=bytes(1000)))
    assert "[21 items]" in repr(Toy(numbers=[0] * 21))


def test_unknown_versions_are_refused() -> None:
    for call in (lambda: Toy().encode(3), lambda: Toy.decode(b"", 3), lambda: Inner().encode(0)):
        with pytest.raises(ValueError, match="has no version"):
            call()
    with pytest.raises(ValueError, match="has no version"):
        Parcel().encode_parts(9)


def test_flexible_versions() -> None:
    assert [Toy.is_flexible(version) for version in range(3)] == [False, True, True]
    assert not Inner.is_flexible(5)


def test_records_are_views_of_the_buffer_and_all_else_is_copied() -> None:
    frame = bytearray(Parcel(before=1, records=bytes(5000), after=2).encode(1))
    parcel = Parcel.decode(memoryview(frame), 1)
    assert isinstance(parcel.records, memoryview)
    parcel.records[0] = 99
    assert 99 in frame
    small = bytearray(Parcel(records=b"abc").encode(0))
    view = Parcel.decode(small, 0).records
    assert isinstance(view, memoryview)
    view[0] = 99
    assert 99 in small
    toy = Toy.decode(memoryview(bytearray(Toy(blob=b"abc").encode(0))), 0)
    assert type(toy.blob) is bytes


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("size", [0, 126, 127, 100_000])
def test_payloads_are_parts_of_their_own(version: int, size: int) -> None:
    first, second = Slice(size), Slice(3)
    parts: list[Any] = Parcel(before=7, records=first, maybe=second, after=9).encode_parts(
        version, b"head"
    )
    assert [part for part in parts if isinstance(part, Slice)] == [first, second]
    assert all(type(part) in (bytes, Slice) for part in parts)
    sent = b"".join(part if isinstance(part, bytes) else bytes(part.nbytes) for part in parts)
    assert sent[:4] == b"head"
    read = Parcel.decode(sent, version, 4)
    assert read == Parcel(before=7, records=bytes(size), maybe=bytes(3), after=9)


def test_a_payload_at_the_end_leaves_no_empty_part() -> None:
    class Last(Message, versions="0", flexible="none"):
        records: Any = Parcel.__fields__[1]

    payload = Slice(4)
    assert Last(records=payload).encode_parts(0) == [b"\0\0\0\4", payload]


def test_a_payload_cannot_be_encoded_into_one_piece() -> None:
    with pytest.raises(TypeError, match="into parts"):
        Parcel(records=Slice(1)).encode(0)


def test_records_that_are_bytes_stay_in_line() -> None:
    for records in (b"abc", bytearray(b"abc"), memoryview(b"abc")):
        assert len(Parcel(records=records).encode_parts(0)) == 1
    assert Parcel.holds_records
    assert not Toy.holds_records


def test_numbers_out_of_range_are_not_encoded() -> None:
    for toy in (Toy(small=128), Toy(unsigned=-1), Toy(numbers=[2**31])):
        with pytest.raises(struct.error):
            toy.encode(0)
    for version in (0, 1):
        with pytest.raises((struct.error, OverflowError)):
            Toy(name="x" * 32768).encode(version)


def test_malformed_frames_say_which_message_and_version() -> None:
    with pytest.raises(MalformedFrame, match="Toy v2: unpack_from requires"):
        Toy.decode(b"", 2)
    with pytest.raises(MalformedFrame, match="Empty v0: ends at byte 0, not 3"):
        Empty.decode(b"abc", 0)


def test_items_that_take_no_bytes_are_still_counted_against_the_frame() -> None:
    crowd = Crowd(members=[Empty()])
    assert Crowd.decode(crowd.encode(1), 1) == crowd
    with pytest.raises(MalformedFrame, match="1 items in 0 bytes"):
        Crowd.decode(crowd.encode(0), 0)


def test_a_request_holds_a_bounded_number_of_items_in_all_its_arrays() -> None:
    limit = FetchRequest.item_limit
    assert limit is not None
    topic = FetchTopic(partitions=[FetchPartition()])
    for topics in ([FetchTopic()] * (limit + 1), [topic] * (limit // 2 + 1)):
        with pytest.raises(MalformedFrame, match="items more than a request may hold"):
            FetchRequest.decode(FetchRequest(topics=topics).encode(12), 12)
    numbers = ForgottenTopic(partitions=[1] * (limit + 1))
    fitting = FetchRequest(topics=[topic] * 9, forgotten_topics_data=[numbers])
    assert FetchRequest.decode(fitting.encode(12), 12) == fitting
    many = Toy(names=[""] * (limit + 1))
    assert Toy.decode(many.encode(1), 1) == many


def test_a_struct_that_a_version_lacks_is_a_default_one() -> None:
    assert Crowd.decode(Crowd(required=Inner(number=4)).encode(1), 1).required.number == 4
    assert Crowd.decode(Crowd(required=Inner(number=4)).encode(0), 0).required == Inner()


def test_a_request_has_no_refusal_unless_its_api_has_one() -> None:
    assert Request.refusal(FetchRequest(), Failure(0, ErrorCode.NONE, None)) is None
    assert Failure(0, ErrorCode.INVALID_REQUEST, "why").text == "why"
    assert Failure(0, ErrorCode.INVALID_REQUEST, None).text == ErrorCode.INVALID_REQUEST.text


def test_only_imported_apis_are_in_the_registry() -> None:
    assert request_type(4) is None
    for key in REQUESTS:
        assert request_type(key) is REQUESTS[key]


@pytest.mark.parametrize("base", [Message, Request, Response])
def test_a_base_of_messages_is_none_itself(base: type[Message]) -> None:
    """Its compiled constructor would serve every message that has none yet."""
    with pytest.raises(TypeError, match="base of messages"):
        base()
