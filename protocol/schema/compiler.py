"""Turns declarations into functions, when they are first used.

Each codec is the straight-line source of decoding.py or encoding.py, executed once. A traceback
through one shows its lines: they are written again on demand by the loader that the function's
globals carry, instead of being kept.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

from protocol.schema import primitives
from protocol.schema.decoding import DecoderSource
from protocol.schema.encoding import EncoderSource
from protocol.schema.message import Decoder, Encoder, Message
from protocol.schema.source import Source, default_source

_MISSING: Final = type("Missing", (), {"__repr__": lambda _: "default"})()

_DECODER_NAMES: Final[dict[str, object]] = {
    "new": object.__new__,
    "unpack_from": struct.unpack_from,
    "continue_varint": primitives.continue_varint,
    "read_varint": primitives.read_varint,
    "long_string": primitives.long_string,
    "long_nullable_string": primitives.long_nullable_string,
    "skip_tags": primitives.skip_tags,
    "null_of": primitives.null_of,
    "bad_length": primitives.bad_length,
    "too_many": primitives.too_many,
    "too_many_items": primitives.too_many_items,
    "wrong_size": primitives.wrong_size,
}

_ENCODER_NAMES: Final[dict[str, object]] = {
    "pack": struct.pack,
    "BYTE": tuple(bytes((value,)) for value in range(128)),
    "ZERO": b"\0",
    "BYTES": frozenset((bytes, bytearray, memoryview)),
    "JOIN": b"".join,
    "write_varint": primitives.write_varint,
    "write_string_length": primitives.write_string_length,
}


class _SourceLoader:
    """What linecache asks for the source of a module: here, of one compiled function."""

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write

    def get_source(self, _name: str) -> str:
        return self._write()


def decoder_source(cls: type[Message], version: int) -> str:
    """The source of a decoder, to be read."""
    return DecoderSource(cls, version, {}).text()


def encoder_source(cls: type[Message], version: int) -> str:
    """The source of an encoder, to be read."""
    return EncoderSource(cls, version, {}).text()


def compile_decoder(cls: type[Message], version: int) -> Decoder:
    """A function that reads one version of `cls`."""
    source = DecoderSource(cls, version, dict(_DECODER_NAMES))
    title = f"{cls.__name__}-v{version}-decode"
    function: Decoder = _execute(source, title, "decode", lambda: decoder_source(cls, version))
    return function


def compile_encoder(cls: type[Message], version: int) -> Encoder:
    """A function that writes one version of `cls`."""
    source = EncoderSource(cls, version, dict(_ENCODER_NAMES))
    title = f"{cls.__name__}-v{version}-encode"
    function: Encoder = _execute(source, title, "encode", lambda: encoder_source(cls, version))
    return function


def compile_constructor(cls: type[Message]) -> Callable[..., None]:
    """An `__init__` that takes the fields as keywords."""
    source = _constructor_source(cls, {"MISSING": _MISSING})
    title = f"{cls.__name__}-init"
    function: Callable[..., None] = _execute(
        source, title, "__init__", lambda: _constructor_source(cls, {}).text()
    )
    return function


def _constructor_source(cls: type[Message], names: dict[str, object]) -> Source:
    parameters = []
    assignments = []
    for field in cls.__fields__:
        name = field.name
        if field.makes_list or field.makes_struct:
            default = default_source(field, source := Source("", names))
            parameters.append(f"{name}=MISSING")
            assignments.append(f"self.{name} = {default} if {name} is MISSING else {name}")
            del source
        else:
            parameters.append(f"{name}={field.default!r}")
            assignments.append(f"self.{name} = {name}")
    star = "*, " if parameters else ""
    written = Source(f"def __init__(self, {star}{', '.join(parameters)}):", names)
    for assignment in assignments or ["pass"]:
        written.line(assignment)
    return written


def _execute(source: Source, title: str, name: str, write: Callable[[], str]) -> Any:
    names = source.names
    names["__name__"] = title
    names["__loader__"] = _SourceLoader(write)
    exec(compile(source.text(), f"{title}.py", "exec"), names)
    return names[name]
