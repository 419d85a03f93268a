"""What a broker says of itself, and what it does with requests that are none."""

import struct
from collections.abc import Iterable

from protocol.api_keys import ApiKey
from protocol.headers import encode_request, encode_request_header
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.metadata import MetadataRequest
from protocol.schema.message import REQUESTS, Request
from tests.kafka_tools.side import Step
from tests.kafka_tools.talker import CORRELATION_ID


def asked(name: str, version: int, request: Request, reads: bool = True) -> Step:
    return Step(name, version, lambda _: request, request.api_key, reads)


def raw(name: str, frame: bytes, api_key: ApiKey, version: int) -> Step:
    """Bytes as they are; a broker that answers answers as to this version of the API."""
    return Step(name, version, lambda _: frame, api_key, reads=False)


def about_itself() -> Iterable[Step]:
    for version in range(3):
        yield asked(f"describe-cluster-v{version}", version, DescribeClusterRequest())
        everything = DescribeClusterRequest(
            include_cluster_authorized_operations=True, include_fenced_brokers=version == 2
        )
        yield asked(f"describe-cluster-operations-v{version}", version, everything)
    for endpoint in (0, 2, 3, -1):
        request = DescribeClusterRequest(endpoint_type=endpoint)
        yield asked(f"describe-cluster-endpoint-{endpoint}", 1, request)
    for version in range(1, 6):
        yield asked(f"log-dirs-v{version}", version, _log_dirs({"c-plain": [0, 2]}))
    yield asked("log-dirs-unknown", 4, _log_dirs({"c-missing": [0], "c-other": [8]}))
    yield asked("log-dirs-nothing", 4, _log_dirs({}))
    for version in range(6):
        request_id = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60000)
        yield asked(f"producer-id-v{version}", version, request_id)
    yield asked("producer-id-empty-name", 4, InitProducerIdRequest(transactional_id=""))
    yield asked("producer-id-given", 4, InitProducerIdRequest(
        transactional_id=None, producer_id=77, producer_epoch=3))  # fmt: skip
    yield asked("producer-id-without-epoch", 4, InitProducerIdRequest(
        transactional_id=None, producer_id=77))  # fmt: skip


def _log_dirs(topics: dict[str, list[int]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(
        topics=[DescribableLogDirTopic(topic=name, partitions=ids) for name, ids in topics.items()]
    )


def versions() -> Iterable[Step]:
    names = {"good": "lib.name-1", "blank": "a b", "empty": "", "dash": "-lib", "end": "lib."}
    for version in (3, 4):
        for name, software in names.items():
            request = ApiVersionsRequest(client_software_name=software, client_software_version="1")
            yield asked(f"api-versions-{name}-v{version}", version, request)
    for version in range(3):
        yield asked(f"api-versions-v{version}", version, ApiVersionsRequest())
    header = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, CORRELATION_ID, 1) + b"x"
    yield raw("api-versions-v99", _framed(header + b"\0"), ApiKey.API_VERSIONS, 0)
    yield raw("api-versions-v5", _framed(
        struct.pack(">hhihB", ApiKey.API_VERSIONS, 5, CORRELATION_ID, -1, 0)
    ), ApiKey.API_VERSIONS, 0)  # fmt: skip
    yield raw("api-versions-v-1", _framed(
        struct.pack(">hhih", ApiKey.API_VERSIONS, -1, CORRELATION_ID, -1)
    ), ApiKey.API_VERSIONS, 0)  # fmt: skip


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def refusals() -> Iterable[Step]:
    """Requests that close the connection, or perhaps do not."""
    metadata = ApiKey.METADATA
    yield raw("unknown-api", _framed(struct.pack(">hhih", 999, 0, 1, -1)), metadata, 0)
    yield raw("negative-api", _framed(struct.pack(">hhih", -1, 0, 1, -1)), metadata, 0)
    yield raw("inter-broker-api", _framed(struct.pack(">hhih", 4, 5, 1, -1)), metadata, 0)
    yield raw("controller-api", _framed(struct.pack(">hhih", 52, 0, 1, -1)), metadata, 0)
    for key, request in sorted(REQUESTS.items()):
        for version in (request.valid_versions.start - 1, request.valid_versions.stop):
            if key != ApiKey.API_VERSIONS and version >= 0:
                frame = _framed(struct.pack(">hhih", key, version, CORRELATION_ID, -1) + bytes(40))
                yield raw(f"version-{ApiKey(key).name}-v{version}", frame, ApiKey(key), version - 1)
    whole = encode_request(MetadataRequest(topics=None), 9, CORRELATION_ID, "x")
    header = encode_request_header(metadata, 9, CORRELATION_ID, "x")
    yield raw("no-body", _framed(header), metadata, 9)
    yield raw("cut-body", _framed(whole[4:-2]), metadata, 9)
    yield raw("long-body", _framed(whole[4:] + b"more"), metadata, 9)
    yield raw("cut-header", _framed(b"\0\3\0"), metadata, 9)
    yield raw("empty-frame", _framed(b""), metadata, 9)
    yield raw("negative-frame", struct.pack(">i", -5), metadata, 9)
    yield raw("huge-frame", struct.pack(">i", 2**31 - 1), metadata, 9)
    yield raw("http", b"GET / HTTP/1.1\r\n\r\n", metadata, 9)
    yield raw("client-id-beyond", _framed(
        struct.pack(">hhih", metadata, 9, CORRELATION_ID, 500) + b"x"), metadata, 9)  # fmt: skip
    yield raw("client-id-negative", _framed(
        struct.pack(">hhih", metadata, 9, CORRELATION_ID, -2) + b"\0\0\0"), metadata, 9
    )  # fmt: skip
    yield raw("client-id-not-utf8", _framed(
        struct.pack(">hhih", metadata, 1, CORRELATION_ID, 1) + b"\xff\xff\xff\xff\xff"), metadata, 1
    )  # fmt: skip
    many = struct.pack(">hhihi", metadata, 1, CORRELATION_ID, -1, 2**31 - 1)
    yield raw("array-beyond", _framed(many), metadata, 1)
    minus = struct.pack(">hhihi", metadata, 1, CORRELATION_ID, -1, -2)
    yield raw("array-minus-two", _framed(minus), metadata, 1)
    unknown_tag = encode_request_header(metadata, 9, CORRELATION_ID, "x")[:-1] + b"\1\x63\2ab"
    yield raw("unknown-header-tag", _framed(unknown_tag + whole[4 + len(header) :]), metadata, 9)
    body_tag = whole[4:-1] + b"\1\x63\2ab"
    yield raw("unknown-body-tag", _framed(body_tag), metadata, 9)
