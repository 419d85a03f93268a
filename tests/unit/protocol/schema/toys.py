"""Messages that no API has, with every kind of field."""

from protocol.schema.fields import (
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    records_,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)
from protocol.schema.message import Message, Records


class Inner(Message):
    """A struct with a tagged field of its own."""

    number: int = int16()
    label: str | None = string("1+", nullable="1+", tag=0, default=None)


class Toy(Message, versions="0-2", flexible="1+"):
    """One field of each kind and shape."""

    truth: bool = boolean()
    small: int = int8(default=-1)
    unsigned: int = uint16()
    wide: int = uint32()
    real: float = float64()
    identity: bytes = uuid()
    name: str = string()
    nickname: str | None = string(nullable="0+", default=None)
    blob: bytes = bytes_()
    maybe_blob: bytes | None = bytes_(nullable="0+", default=None)
    inner: Inner = struct(Inner)
    maybe_inner: Inner | None = struct(Inner, nullable="0+")
    numbers: list[int] = array(int32)
    names: list[str] | None = array(string, nullable="1+")
    identities: list[bytes] = array(uuid)
    blobs: list[bytes] = array(bytes_)
    inners: list[Inner] = array(Inner)
    late: int = int64("2+", default=7)
    demanded: int = int64("2+", default=8, ignorable=False)
    demanded_list: list[int] = array(int32, "2+", ignorable=False)
    tagged_numbers: list[int] = array(int32, "1+", tag=1)
    tagged_inner: Inner | None = struct(Inner, "1+", tag=0)
    tagged_name: str = string("2+", tag=2, default="x")
    tagged_list: list[Inner] | None = array(Inner, "2+", nullable="2+", tag=3)


class Parcel(Message, versions="0-1", flexible="1+"):
    """Records between other fields."""

    before: int = int32()
    records: Records = records_()
    maybe: Records = records_(nullable="0+")
    after: int = int32()


class Empty(Message, versions="0-1", flexible="1+"):
    """No fields at all."""


class Crowd(Message, versions="0-1", flexible="1+"):
    """An array whose items take no bytes at all in version 0."""

    members: list[Empty] = array(Empty)
    required: Inner = struct(Inner, "1+")
