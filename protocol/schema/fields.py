"""The field language: what each attribute of a message is on the wire, and in which versions.

    class FetchPartition(Message):
        partition: int = int32()                               # in every version
        current_leader_epoch: int = int32("9+", default=-1)    # from version 9 on

A version range is "9+", "4-18", "3" or "none". The functions below claim to return the Python value
of their field, so that a type checker reads `int32()` as the default of an int; what they really
return is a `Field`, which the message's metaclass takes away from the class again.

Defaults are Kafka's: zero, false, "", no bytes, an empty list, null records; a nullable struct and
a tagged struct are None until somebody sets them. A field that is absent from the version in use is
dropped when encoding and has its default after decoding, unless `ignorable=False`: then encoding
anything but the default raises ValueError.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from protocol.model import ZERO_TOPIC_ID

T = TypeVar("T")

ALL: Final = "0+"
NONE: Final = "none"
ENDLESS: Final = 32767

FIXED_FORMATS: Final = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Kinds of one fixed width, with their letter in the struct module."""


def parse_versions(text: str) -> range:
    """The versions that a range like "9+", "4-18", "3" or "none" names."""
    versions = _PARSED.get(text)
    if versions is None:
        versions = _PARSED[text] = _parse(text)
    return versions


def _parse(text: str) -> range:
    if text == NONE:
        return range(0)
    if text[-1] == "+":
        return range(int(text[:-1]), ENDLESS + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


_PARSED: Final[dict[str, range]] = {}


class Field:
    """One declared field; version ranges stay text until a codec is made."""

    __slots__ = ("default", "ignorable", "kind", "name", "nullable", "of", "tag", "versions")

    name: str
    kind: str
    """A key of FIXED_FORMATS, or "string", "bytes", "records", "struct", "array"."""
    of: Any
    """The message class of a struct; of an array the same, or the kind of its items."""
    tag: int | None
    default: Any
    """A plain constant; None also for a fresh struct; () for a fresh list."""

    def __init__(
        self, kind: str, versions: str, nullable: str, default: Any, of: Any = None
    ) -> None:
        self.kind = kind
        self.versions = versions
        self.nullable = nullable
        self.default = default
        self.of = of
        self.tag = None
        self.ignorable = True

    def in_version(self, version: int) -> bool:
        """Whether the field is on the wire in `version`, tagged or not."""
        return version in parse_versions(self.versions)

    def nullable_in(self, version: int) -> bool:
        """Whether null is allowed on the wire in `version`."""
        return version in parse_versions(self.nullable)

    @property
    def makes_list(self) -> bool:
        """Whether the default is a new empty list."""
        return self.kind == "array" and self.default is not None

    @property
    def makes_struct(self) -> bool:
        """Whether the default is a new struct of defaults."""
        return self.kind == "struct" and self.nullable == NONE and self.tag is None


def _field(kind: str, versions: str, default: Any, options: dict[str, Any], of: Any = None) -> Any:
    field = Field(kind, versions, options.pop("nullable", NONE), default, of)
    if options:
        field.tag = options.pop("tag", None)
        field.ignorable = options.pop("ignorable", True)
        if options:
            raise TypeError(f"a field has no option {', '.join(options)}")
    return field


def boolean(versions: str = ALL, *, default: bool = False, **options: Any) -> bool:
    """One byte: 0 is false, anything else true."""
    return cast(bool, _field("boolean", versions, default, options))


def int8(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """A signed byte."""
    return cast(int, _field("int8", versions, default, options))


def int16(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """Two bytes, big-endian, signed."""
    return cast(int, _field("int16", versions, default, options))


def uint16(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """Two bytes, big-endian, unsigned."""
    return cast(int, _field("uint16", versions, default, options))


def int32(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """Four bytes, big-endian, signed."""
    return cast(int, _field("int32", versions, default, options))


def uint32(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """Four bytes, big-endian, unsigned."""
    return cast(int, _field("uint32", versions, default, options))


def int64(versions: str = ALL, *, default: int = 0, **options: Any) -> int:
    """Eight bytes, big-endian, signed."""
    return cast(int, _field("int64", versions, default, options))


def float64(versions: str = ALL, *, default: float = 0.0, **options: Any) -> float:
    """Eight bytes, big-endian, IEEE 754."""
    return cast(float, _field("float64", versions, default, options))


def uuid(versions: str = ALL, *, default: bytes = ZERO_TOPIC_ID, **options: Any) -> bytes:
    """Sixteen bytes; all zero stands for none."""
    return cast(bytes, _field("uuid", versions, default, options))


def string(versions: str = ALL, *, default: str | None = "", **options: Any) -> str:
    """UTF-8 of at most 32,767 bytes behind an int16 or compact length."""
    return cast(str, _field("string", versions, default, options))


def bytes_(versions: str = ALL, *, default: bytes | None = b"", **options: Any) -> bytes:
    """Bytes behind an int32 or compact length; decoded into a copy."""
    return cast(bytes, _field("bytes", versions, default, options))


def records_(versions: str = ALL, *, default: bytes | None = None, **options: Any) -> memoryview:
    """Record batches, laid out as bytes; decoded into a view of the frame, nothing is copied."""
    return cast(memoryview, _field("records", versions, default, options))


def array(of: Callable[..., T], versions: str = ALL, **options: Any) -> list[T]:
    """Many of one struct class, or of a kind given by its function: `array(int32)`."""
    item = of if isinstance(of, type) else _KINDS[of]
    default = options.pop("default", ())
    return cast("list[T]", _field("array", versions, default, options, item))


def struct(of: Callable[..., T], versions: str = ALL, **options: Any) -> T:
    """A nested struct; when nullable, behind an int8 that is -1 for null and 1 otherwise.

    As a tagged field, 0 is null, and null is written out: Kafka's default for it is a struct.
    """
    return cast(T, _field("struct", versions, None, options, of))


_KINDS: Final[dict[Any, str]] = {
    boolean: "boolean",
    int8: "int8",
    int16: "int16",
    uint16: "uint16",
    int32: "int32",
    uint32: "uint32",
    int64: "int64",
    float64: "float64",
    uuid: "uuid",
    string: "string",
    bytes_: "bytes",
}
