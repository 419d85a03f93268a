"""Renders docs/wire_protocol.md from the declared messages.

A message is declared before anybody handles it, so the page is told which APIs to show. `make docs`
writes it; a test holds the committed one to it.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable

from protocol import messages
from protocol.schema.fields import ALL, NONE, Field
from protocol.schema.message import REQUESTS, RESPONSES, Message, Request

_INTRODUCTION = """\
# The wire protocol

This page is rendered from the declarations in `protocol/messages/` by `make docs`; a test fails
when the two differ.

Tidelog speaks Kafka's protocol over TCP. A client sends frames, each a request, and gets one frame
back for each, in the same order; the one exception is Produce with acks 0, which has no answer. All
numbers are big-endian.

```text
request   | size int32 | api key int16 | api version int16 | correlation id int32 |
          | client id nullable string | tagged fields, where flexible | body |
response  | size int32 | correlation id int32 | tagged fields, where flexible | body |
```

An ApiVersions response never has tagged fields in its header. A version is *flexible* when its
strings and arrays have compact lengths (unsigned varint of length + 1, 0 for null) and each of its
structs ends with tagged fields (count, then tag, size and bytes of each); tags nobody knows are
skipped. Bytes behind the end of a request are ignored, as Kafka does. A request may hold 50,000
strings and structs in its arrays; one that holds more closes the connection, as any malformed does.

*Served* versions are decoded and answered. *Advertised* is what ApiVersions tells where it differs:
a request of an advertised version that is not served closes the connection.

| key | API | served | advertised | flexible from |
|---:|---|---|---|---|
"""

_FIELDS = """
## Fields

Each line is one field, in wire order: its type, the versions that have it where not all do, where
it may be null, its tag, and its default where that is not zero, empty or null.
"""


def import_all() -> None:
    """Fill the registry with every API there is."""
    for module in pkgutil.iter_modules(messages.__path__):
        importlib.import_module(f"{messages.__name__}.{module.name}")


def render(served: Iterable[int]) -> str:
    """The page, for the APIs of these keys."""
    import_all()
    rows = []
    sections = []
    for key in sorted(served):
        request = REQUESTS[key]
        rows.append(_row(request))
        sections.append(_section(request))
    return _INTRODUCTION + "\n".join(rows) + "\n" + _FIELDS + "".join(sections)


def _row(request: type[Request]) -> str:
    versions = request.valid_versions
    first, last = versions.start, versions.stop - 1
    served = f"{first}-{last}" if first < last else f"{first}"
    advertised = "" if request.advertised_from == first else f"{request.advertised_from}-{last}"
    flexible = "never" if request.first_flexible is None else f"v{request.first_flexible}"
    name = _name(request)
    link = f"[{name}](#{name.lower()})"
    return f"| {request.api_key} | {link} | {served} | {advertised} | {flexible} |"


def _section(request: type[Request]) -> str:
    notes = inspect.getdoc(sys.modules[request.__module__]) or ""
    response = RESPONSES[request.api_key]
    return (
        f"\n### {_name(request)}\n\n{notes}\n\n"
        f"```text\n{request.__name__}\n{_tree(request, 1)}"
        f"\n{response.__name__}\n{_tree(response, 1)}```\n"
    )


def _name(request: type[Request]) -> str:
    return request.__name__.removesuffix("Request")


def _tree(cls: type[Message], depth: int) -> str:
    lines = []
    for field in cls.__fields__:
        lines.append("    " * depth + f"{field.name}: {_described(field)}\n")
        if isinstance(field.of, type):
            lines.append(_tree(field.of, depth + 1))
    return "".join(lines)


def _described(field: Field) -> str:
    words = [field.kind]
    if field.kind == "array":
        words[0] = f"array of {field.of if isinstance(field.of, str) else field.of.__name__}"
    elif field.kind == "struct":
        words[0] = field.of.__name__
    if field.versions != ALL:
        words.append(f"v{field.versions}")
    if field.nullable == ALL or (field.nullable != NONE and field.nullable == field.versions):
        words.append("nullable")
    elif field.nullable != NONE:
        words.append(f"nullable v{field.nullable}")
    if field.tag is not None:
        words.append(f"tag {field.tag}")
    if field.default and field.default != bytes(16):
        words.append(f"default {field.default}")
    return ", ".join(words)
