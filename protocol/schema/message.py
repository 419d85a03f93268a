"""Messages: values with declared fields, and the registry of the APIs they belong to.

A message class is written once for all its versions. Making the class only collects its fields;
the constructor is compiled when the first value is made and each codec when its version is first
used, so that importing every API costs little.

A buffer given to `decode` ends with the message: anything cut short, out of range or, except behind
a request, left over is `MalformedFrame`; no other exception leaves a decoder for what a peer sent.
"""

from collections.abc import Callable, Sequence
from struct import error as struct_error
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
)

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, MalformedFrame
from protocol.schema.fields import NONE, Field, parse_versions
from protocol.schema.primitives import Buffer


class Payload(Protocol):
    """Bytes of a response that are sent from where they are, a slice of a file for instance."""

    @property
    def nbytes(self) -> int:
        """How many bytes will be sent."""


Records = memoryview | bytes | bytearray | Payload | None
"""What a response's records field may hold; a decoded one holds a memoryview or None."""

Decoder = Callable[[Any, Any, int], Any]
"""(data to parse, memoryview to slice records from, start) -> message."""
Encoder = Callable[[Any, list[bytes], list[Any]], None]
"""(message, bytes not yet joined, finished parts); each Payload closes a part."""

_SMALL_WITH_RECORDS = 2048
_SMALL = 65536

M = TypeVar("M", bound="Message")


@dataclass_transform(kw_only_default=True)
class MessageMeta(type):
    """Turns the fields of a class body into slots, and keeps their declarations beside them."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        versions: str = NONE,
        flexible: str = NONE,
        **api: Any,
    ) -> "MessageMeta":
        """Make the class; `versions` and `flexible` are ranges, `api` goes to the base class."""
        fields = []
        for attribute, value in list(namespace.items()):
            if value.__class__ is Field:
                value.name = attribute
                fields.append(value)
                del namespace[attribute]
        namespace["__slots__"] = [field.name for field in fields]
        namespace["__fields__"] = tuple(fields)
        if versions != NONE:
            namespace["valid_versions"] = parse_versions(versions)
            flexible_versions = parse_versions(flexible)
            namespace["first_flexible"] = flexible_versions.start if flexible_versions else None
            namespace["_decoders"] = {}
            namespace["_encoders"] = {}
        namespace["holds_records"] = any(map(_holds_records, fields))
        return super().__new__(mcs, name, bases, namespace, **api)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any):
        super().__init__(name, bases, namespace)


def _holds_records(field: Field) -> bool:
    return field.kind == "records" or getattr(field.of, "holds_records", False)


class Message(metaclass=MessageMeta):
    """A struct of the protocol; with `versions=` and `flexible=` one that stands alone.

    Values are compared field by field, mutable and therefore not hashable. The constructor takes
    keywords only; whatever is left out has its default, lists and structs fresh ones.
    """

    __fields__: ClassVar[tuple[Field, ...]]
    valid_versions: ClassVar[range] = range(0)
    first_flexible: ClassVar[int | None] = None
    holds_records: ClassVar[bool]
    """Whether values carry record batches: only such messages are rightly megabytes large."""
    ignores_trailing_bytes: ClassVar[bool] = False
    item_limit: ClassVar[int | None] = None
    """Strings and structs in all arrays of one message together, where a stranger may send it."""
    _decoders: ClassVar[dict[int, Decoder]] = {}
    _encoders: ClassVar[dict[int, Encoder]] = {}

    def __init__(self, **values: Any) -> None:
        from protocol.schema.compiler import compile_constructor

        cls = self.__class__
        if not cls.__fields__ and not cls.valid_versions:
            raise TypeError(f"{cls.__name__} is a base of messages, not one of them")
        constructor = compile_constructor(cls)
        cls.__init__ = constructor  # type: ignore[method-assign]  # from now on
        constructor(self, **values)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            getattr(self, field.name) == getattr(other, field.name) for field in self.__fields__
        )

    __hash__ = None  # type: ignore[assignment]  # equal by mutable fields

    def __repr__(self) -> str:
        values = ", ".join(f"{f.name}={_shown(getattr(self, f.name))}" for f in self.__fields__)
        return f"{self.__class__.__name__}({values})"

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """Whether `version` has compact lengths and tagged fields (KIP-482)."""
        return cls.first_flexible is not None and version >= cls.first_flexible

    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self:
        """The message that fills `buffer` from `offset` to its end; see above for MalformedFrame.

        Records fields are views of `buffer`, valid and writable as long as it is; all else is
        copied. ValueError for a version that is not declared.
        """
        decoder = cls._decoders.get(version)
        if decoder is None:
            decoder = _compile("decoder", cls, version)
        data = view = buffer
        if cls.holds_records:
            if buffer.__class__ is not memoryview:
                view = memoryview(buffer)
            data = bytes(view) if len(view) <= _SMALL_WITH_RECORDS else view
        elif buffer.__class__ is not bytes and len(buffer) <= _SMALL:
            data = bytes(buffer)  # Indexing and slicing bytes is twice as fast.
        try:
            return decoder(data, view, offset)  # type: ignore[no-any-return]
        except (struct_error, IndexError, UnicodeDecodeError) as error:
            raise MalformedFrame(f"{cls.__name__} v{version}: {error}") from error
        except MalformedFrame as error:
            raise MalformedFrame(f"{cls.__name__} v{version}: {error}") from None

    def encode(self, version: int) -> bytes:
        """The message's bytes in `version`; struct.error or OverflowError for a value out of range.

        ValueError for a version that is not declared, and for a value the version cannot carry
        where that is not to be ignored.
        """
        encoder = self._encoders.get(version)
        if encoder is None:
            encoder = _compile("encoder", self.__class__, version)
        out: list[bytes] = []
        parts: list[Any] = []
        encoder(self, out, parts)
        if parts:
            raise TypeError("a message that holds a Payload is encoded into parts")
        return b"".join(out)

    def encode_parts(self, version: int, prefix: bytes = b"") -> list[bytes | Payload]:
        """`prefix` and the message; Payloads are parts of their own, all between them is bytes."""
        encoder = self._encoders.get(version)
        if encoder is None:
            encoder = _compile("encoder", self.__class__, version)
        out = [prefix]
        parts: list[bytes | Payload] = []
        encoder(self, out, parts)
        if out:
            parts.append(b"".join(out))
        return parts


class Failure(NamedTuple):
    """Why a whole request failed, and the version its answer is read in."""

    version: int
    code: ErrorCode
    message: str | None

    @property
    def text(self) -> str:
        """The message, or the code's own."""
        return self.code.text if self.message is None else self.message


class Request(Message):
    """What a client sends, after the request header."""

    ignores_trailing_bytes: ClassVar[bool] = True
    """As Kafka does: librdkafka 2.15 leaves three bytes behind a Metadata v13 for all topics."""
    item_limit: ClassVar[int | None] = 50_000
    """An item takes three bytes of a frame, but 200 of memory; and to make it, handle it and answer
    it up to ten microseconds in which nobody else is served."""
    api_key: ClassVar[ApiKey]
    advertised_from: ClassVar[int]
    """Lowest version ApiVersions tells; below the lowest served one where old clients need that."""

    def __init_subclass__(
        cls, *, api_key: ApiKey, advertised_from: int | None = None, **_: Any
    ) -> None:
        cls.api_key = api_key
        cls.advertised_from = (
            cls.valid_versions.start if advertised_from is None else advertised_from
        )
        REQUESTS[api_key] = cls

    def error_response(
        self, version: int, code: ErrorCode, message: str | None = None
    ) -> "Response | None":
        """The answer that says `code` of the request as a whole, or of each of its items.

        None where the API has no place for it; the connection is closed then.
        """
        return self.refusal(Failure(version, code, message))

    def refusal(self, failure: Failure) -> "Response | None":
        """What `error_response` answers; each API overrides it."""


class Response(Message):
    """What a broker answers, after the response header."""

    api_key: ClassVar[ApiKey]

    def __init_subclass__(cls, *, api_key: ApiKey, **_: Any) -> None:
        cls.api_key = api_key
        RESPONSES[api_key] = cls


REQUESTS: dict[int, type[Request]] = {}
"""Filled by importing the modules of protocol.messages."""
RESPONSES: dict[int, type[Response]] = {}


def request_type(api_key: int) -> type[Request] | None:
    """The request class of an API whose module is imported."""
    return REQUESTS.get(api_key)


def served_versions(api_key: int) -> tuple[int, int, int] | None:
    """Lowest and highest version understood, and the lowest one to advertise."""
    request = REQUESTS.get(api_key)
    if request is None:
        return None
    versions = request.valid_versions
    return versions.start, versions.stop - 1, request.advertised_from


def _compile(direction: str, cls: type[Message], version: int) -> Any:
    from protocol.schema import compiler

    if version not in cls.valid_versions:
        raise ValueError(f"{cls.__name__} has no version {version}")
    if direction == "decoder":
        cls._decoders[version] = compiler.compile_decoder(cls, version)
        return cls._decoders[version]
    cls._encoders[version] = compiler.compile_encoder(cls, version)
    return cls._encoders[version]


def _shown(value: object) -> str:
    if isinstance(value, memoryview | bytes) and len(value) > 40:
        return f"<{len(value)} bytes>"
    if isinstance(value, Sequence) and len(value) > 20 and not isinstance(value, str):
        return f"[{len(value)} items]"
    return repr(value)
