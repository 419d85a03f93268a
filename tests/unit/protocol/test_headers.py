import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.api_keys import ApiKey
from protocol.errors import MalformedFrame
from protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request,
    encode_request_header,
    response_header_prefix,
)
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.produce import ProduceRequest

assert ProduceRequest.api_key == ApiKey.PRODUCE


@pytest.mark.parametrize("client_id", [None, "", "a client", "ключ"])
@pytest.mark.parametrize(("api_key", "version"), [(0, 8), (0, 9), (18, 2), (18, 3), (18, 99)])
def test_what_is_encoded_is_decoded(api_key: int, version: int, client_id: str | None) -> None:
    header = encode_request_header(api_key, version, -7, client_id)
    decoded = decode_request_header(header + b"body")
    assert decoded == RequestHeader(api_key, version, -7, client_id, len(header))


def test_a_flexible_version_has_tags_and_unknown_ones_are_skipped() -> None:
    flexible = struct.pack(">hhih", 0, 9, 1, 1) + b"x"
    assert decode_request_header(flexible + b"\0body").body_offset == 12
    assert decode_request_header(flexible + b"\1\5\3abcbody").body_offset == 17
    plain = struct.pack(">hhih", 0, 8, 1, 1) + b"x"
    assert decode_request_header(plain + b"\0body").body_offset == 11


def test_an_unknown_api_has_a_header_without_tags() -> None:
    frame = struct.pack(">hhih", 777, 9, 1, -1) + b"\0body"
    assert decode_request_header(frame) == RequestHeader(777, 9, 1, None, 10)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0" * 9,
        struct.pack(">hhih", 0, 9, 1, -2) + b"\0",
        struct.pack(">hhih", 0, 8, 1, 5) + b"abcd",
        struct.pack(">hhih", 0, 9, 1, 1) + b"x",
        struct.pack(">hhih", 0, 9, 1, 1) + b"\xff\0",
        struct.pack(">hhih", 0, 9, 1, 0) + b"\1\0\5abc",
        struct.pack(">hhih", 0, 9, 1, 0) + b"\xff\xff\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_bytes_that_are_no_header_are_malformed(frame: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_request_header(frame)


@given(st.binary(max_size=40))
def test_garbage_has_a_header_or_is_malformed(garbage: bytes) -> None:
    try:
        header = decode_request_header(garbage)
    except MalformedFrame:
        return
    assert 10 <= header.body_offset <= len(garbage)


def test_responses_of_flexible_versions_have_tags_except_api_versions() -> None:
    assert response_header_prefix(0, 8, 5) == b"\0\0\0\5"
    assert response_header_prefix(0, 9, 5) == b"\0\0\0\5\0"
    assert response_header_prefix(18, 4, 5) == b"\0\0\0\5"


def test_response_headers_are_read_back() -> None:
    for key, version in ((0, 8), (0, 9), (18, 4)):
        prefix = response_header_prefix(key, version, -9)
        assert decode_response_header(prefix + b"body", key, version) == (-9, len(prefix))
    assert decode_response_header(b"\0\0\0\1\1\0\2abrest", 0, 9) == (1, 9)


@pytest.mark.parametrize("frame", [b"\0\0", b"\0\0\0\1", b"\0\0\0\1\1\0\7abc"])
def test_bytes_that_are_no_response_header_are_malformed(frame: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_response_header(frame, 0, 9)


def test_a_whole_request_frame_is_its_size_header_and_body() -> None:
    request = ApiVersionsRequest(client_software_name="me", client_software_version="1")
    frame = encode_request(request, 3, 11, "id")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = decode_request_header(frame[4:])
    assert header[:4] == (18, 3, 11, "id")
    assert ApiVersionsRequest.decode(frame[4:], 3, header.body_offset) == request
