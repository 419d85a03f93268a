"""Request and response headers, which go before every body.

Request header v1, and v2 before a body of a flexible version (KIP-482):

    | api key int16 | api version int16 | correlation id int32 | client id string or null | tags |

The client id keeps its int16 length in v2, so that a broker reads it before it knows the version.
Response header v0, and v1 before a body of a flexible version:

    | correlation id int32 | tags (v1) |

An ApiVersions response always has header v0: the client reads it before it knows the broker.
Whether a version is flexible comes from the declared messages; an API nobody imported has v1.
Source: Kafka 4.3 `ApiKeys.requestHeaderVersion`, `RequestHeader`, `ResponseHeader`.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

from protocol.api_keys import ApiKey
from protocol.errors import MalformedFrame
from protocol.schema.message import REQUESTS, Request
from protocol.schema.primitives import Buffer, skip_tags

_REQUEST: Final = Struct(">hhih")
_RESPONSE_V0: Final = Struct(">i")
_RESPONSE_V1: Final = Struct(">ix")


class RequestHeader(NamedTuple):
    """What a request says of itself; `body_offset` is where its body begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


def decode_request_header(buffer: Buffer) -> RequestHeader:
    """The header at the start of a frame (the size is already gone); MalformedFrame if none is."""
    try:
        api_key, version, correlation_id, length = _REQUEST.unpack_from(buffer)
        end = 10
        client_id = None
        if length >= 0:
            end += length
            if end > len(buffer):
                raise MalformedFrame(f"a client id of {length} bytes in {len(buffer)}")
            client_id = str(buffer[10:end], "utf-8")
        elif length != -1:
            raise MalformedFrame(f"a client id of {length} bytes")
        request = REQUESTS.get(api_key)
        if request is not None and request.is_flexible(version):
            count = buffer[end]
            end += 1
            if count:
                end = skip_tags(count, buffer, end)
                if end > len(buffer):
                    raise MalformedFrame("tags of the header beyond the frame")
    except (struct_error, IndexError, UnicodeDecodeError) as error:
        raise MalformedFrame(f"request header: {error}") from error
    return RequestHeader(api_key, version, correlation_id, client_id, end)


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """The header a client sends before a body of `api_version`."""
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    header = _REQUEST.pack(api_key, api_version, correlation_id, length) + name
    return header + b"\0" if REQUESTS[api_key].is_flexible(api_version) else header


def encode_request(
    request: Request, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """A whole frame, size first."""
    header = encode_request_header(request.api_key, api_version, correlation_id, client_id)
    body = request.encode(api_version)
    return b"".join((_RESPONSE_V0.pack(len(header) + len(body)), header, body))


def response_header_prefix(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header a broker sends before a body of `api_version`."""
    if _has_tags(api_key, api_version):
        return _RESPONSE_V1.pack(correlation_id)
    return _RESPONSE_V0.pack(correlation_id)


def decode_response_header(buffer: Buffer, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id, and where the body begins; MalformedFrame where there is no header."""
    try:
        correlation_id: int = _RESPONSE_V0.unpack_from(buffer)[0]
        if not _has_tags(api_key, api_version):
            return correlation_id, 4
        end = skip_tags(buffer[4], buffer, 5)
    except (struct_error, IndexError) as error:
        raise MalformedFrame(f"response header: {error}") from error
    if end > len(buffer):
        raise MalformedFrame("tags of the header beyond the frame")
    return correlation_id, end


def _has_tags(api_key: int, api_version: int) -> bool:
    if api_key == ApiKey.API_VERSIONS:
        return False
    return REQUESTS[api_key].is_flexible(api_version)
