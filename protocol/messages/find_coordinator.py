"""FindCoordinator (10): which broker coordinates a group or a transactional id.

v1 transactional ids, messages and throttle time (KIP-98), v2 the answer comes before the client is
throttled, v3 flexible, v4 many keys at once (KIP-699), v5 TRANSACTION_ABORTABLE (KIP-890), v6 share
groups, whose key is "group:topic id:partition" (KIP-932).

One key and many are the same thing said twice: `keys` and `FindCoordinatorResponse.telling` turn
v0-3 into lists of one.
"""

import enum
from collections.abc import Sequence
from typing import Final

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.schema.fields import array, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_WITH_MANY_KEYS: Final = 4
NO_NODE: Final = -1
"""Node id and port where no coordinator is told."""


class CoordinatorType(enum.IntEnum):
    """What the keys are."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class FindCoordinatorRequest(
    Request, api_key=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+"
):
    """Keys of one type (`CoordinatorType`)."""

    key: str = string("0-3", ignorable=False)
    key_type: int = int8("1+", ignorable=False)
    coordinator_keys: list[str] = array(string, "4+", ignorable=False)

    def keys(self, version: int) -> list[str]:
        """The keys, whichever way `version` names them."""
        return self.coordinator_keys if version >= FIRST_VERSION_WITH_MANY_KEYS else [self.key]

    def refusal(self, failure: Failure) -> "FindCoordinatorResponse":
        """The code, and a message in any case, for each key."""
        coordinators = [
            no_coordinator(key, failure.code, failure.text) for key in self.keys(failure.version)
        ]
        return FindCoordinatorResponse.telling(failure.version, coordinators)


class Coordinator(Message):
    """The coordinator of one key, at its address on the listener that was asked."""

    key: str = string("4+")
    node_id: int = int32("4+")
    host: str = string("4+")
    port: int = int32("4+")
    error_code: int = int16("4+")
    error_message: str | None = string("4+", nullable="4+")


def no_coordinator(key: str, code: ErrorCode, message: str | None) -> Coordinator:
    """What is told of a key whose coordinator cannot be."""
    return Coordinator(
        key=key, node_id=NO_NODE, port=NO_NODE, error_code=code, error_message=message
    )


class FindCoordinatorResponse(
    Response, api_key=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+"
):
    """The coordinator of each key."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16("0-3", ignorable=False)
    error_message: str | None = string("1-3", nullable="1-3")
    node_id: int = int32("0-3", ignorable=False)
    host: str = string("0-3", ignorable=False)
    port: int = int32("0-3", ignorable=False)
    coordinators: list[Coordinator] = array(Coordinator, "4+", ignorable=False)

    @classmethod
    def telling(
        cls, version: int, coordinators: Sequence[Coordinator]
    ) -> "FindCoordinatorResponse":
        """The answer for these keys; exactly one of them below v4."""
        if version >= FIRST_VERSION_WITH_MANY_KEYS:
            return cls(coordinators=list(coordinators))
        (one,) = coordinators
        return cls(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )
