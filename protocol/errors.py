"""Kafka's error codes, and the exceptions that stand for a failed request.

A code travels as int16 in most responses and never changes its meaning (source: Kafka 4.3,
`org.apache.kafka.common.protocol.Errors`). Failures of one item of a request are
`ErrorCode` values; `KafkaError` answers a whole request; `MalformedFrame` says that bytes are not
Kafka's at all.
"""

import enum


class ErrorCode(enum.IntEnum):
    """What went wrong, as told to a client."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133

    @property
    def retriable(self) -> bool:
        """True where a client may send the same request again, after fresh metadata perhaps."""
        return self in _RETRIABLE

    @property
    def text(self) -> str:
        """The message sent for this code when nothing more precise is known."""
        return _TEXTS[self]


_RETRIABLE = frozenset(
    (
        2,
        3,
        5,
        6,
        7,
        9,
        13,
        14,
        15,
        16,
        19,
        20,
        41,
        51,
        56,
        70,
        71,
        72,
        74,
        75,
        78,
        80,
        83,
        84,
        88,
        89,
        100,
        103,
        106,
        122,
        123,
        133,
    )
)

_TEXTS = {
    -1: "The server met an unexpected error while it handled the request.",
    0: "No error.",
    1: "The requested offset is outside the range of offsets this partition holds.",
    2: "The record batch failed its checksum, has an invalid size, or is otherwise corrupt.",
    3: "This server does not host this topic-partition.",
    4: "The requested fetch size is invalid.",
    5: "The partition has no leader at the moment: an election is under way.",
    6: "This broker is not the leader, or not a replica, of the partition.",
    7: "The request timed out.",
    8: "The broker is not available.",
    9: "The replica is not available on this broker.",
    10: "The batch is larger than the largest message size the server accepts.",
    11: "Another broker is the controller by now.",
    12: "The metadata kept with the offset is too long.",
    13: "The connection closed before an answer came.",
    14: "The coordinator is still loading its state.",
    15: "The coordinator is not available.",
    16: "This broker is not the coordinator.",
    17: "The topic name is invalid, or the operation is not allowed on this topic.",
    18: "The batch is larger than the segment size of the log.",
    19: "The batch was refused: fewer replicas are in sync than the topic requires.",
    20: "The batch was appended, but fewer replicas are in sync than the topic requires.",
    21: "The required acks of a produce request must be -1, 0 or 1.",
    22: "The generation id of the group is not valid.",
    23: "The member's protocols do not fit those of the other members of the group.",
    24: "The group id is invalid.",
    25: "The coordinator does not know this member.",
    26: "The session timeout is not within group.{min,max}.session.timeout.ms.",
    27: "The group is rebalancing; the member has to join again.",
    28: "The offset commit is too large.",
    29: "Not authorized to access the topic.",
    30: "Not authorized to access the group.",
    31: "Not authorized for this operation on the cluster.",
    32: "The timestamp of a record is out of the accepted range.",
    33: "The server does not support the SASL mechanism asked for.",
    34: "The request is not valid at this point of the SASL exchange.",
    35: "The server does not support this version of the API.",
    36: "A topic with this name already exists.",
    37: "The number of partitions is invalid.",
    38: "The replication factor is invalid.",
    39: "The replica assignment is invalid.",
    40: "The configuration is invalid.",
    41: "This broker is not the controller of the cluster.",
    42: "The request is malformed or its fields contradict each other; the broker's log says more.",
    43: "The message format on the broker does not allow this request.",
    44: "The request breaks a policy configured on the broker.",
    45: "The sequence number is not the next one of this producer.",
    46: "The sequence number was already used by this producer.",
    47: "The producer's epoch is older than the newest one known to the broker.",
    48: "The transaction is not in a state that allows this operation.",
    49: "The producer id is not the one assigned to the transactional id.",
    50: "The transaction timeout is larger than transaction.max.timeout.ms.",
    51: "Another operation on the same transaction is under way.",
    52: "The transaction coordinator that sent the markers is no longer the current one.",
    53: "Not authorized to use the transactional id.",
    54: "Security features are disabled.",
    55: "The broker left this operation undone, because another one of the same request failed.",
    56: "The disk failed while a log was accessed.",
    57: "The broker has no such log directory.",
    58: "SASL authentication failed.",
    59: "The broker knows nothing of this producer id: its records are gone or never existed.",
    60: "A reassignment of the partition is in progress.",
    61: "Delegation tokens are not enabled.",
    62: "The delegation token does not exist on this server.",
    63: "The principal is neither owner nor renewer of the delegation token.",
    64: "Delegation token requests need a TLS or SASL connection not opened with a token.",
    65: "Not authorized for this delegation token.",
    66: "The delegation token has expired.",
    67: "The principal type is not supported.",
    68: "The group has members.",
    69: "The group id does not exist.",
    70: "The fetch session does not exist.",
    71: "The epoch of the fetch session is invalid.",
    72: "The leader has no endpoint for the listener on which metadata was asked.",
    73: "Deletion of topics is disabled.",
    74: "The leader epoch in the request is older than the one on the broker.",
    75: "The leader epoch in the request is newer than the one on the broker.",
    76: "The client does not support the compression type of the partition.",
    77: "The broker epoch has changed.",
    78: "The new leader's high watermark has not caught up yet.",
    79: "The group member needs a member id before it may join.",
    80: "The preferred leader is not available.",
    81: "The group has reached its largest size.",
    82: "Another member has taken over this group instance id.",
    83: "No replica that is allowed to lead is available.",
    84: "Leader election not needed for topic partition.",
    85: "No reassignment of the partition is in progress.",
    86: "Members of the group are subscribed to the topic, so its offsets stay.",
    87: "A record was refused by the broker's validation.",
    88: "Offsets of a transaction that is not finished have to be cleared first.",
    89: "The quota for such requests is exceeded.",
    90: "A newer producer with the same transactional id has fenced this one.",
    91: "The resource does not exist.",
    92: "The request names a resource twice.",
    93: "The credential does not meet the requirements.",
    94: "The sender or its target is not among the expected voters.",
    95: "The update version is invalid.",
    96: "The features could not be updated.",
    97: "The principal of a forwarded request could not be read.",
    98: "The snapshot does not exist.",
    99: "The requested position is negative or beyond the end of the snapshot.",
    100: "This server does not host this topic ID.",
    101: "The broker id is in use by another broker.",
    102: "The broker id is not registered.",
    103: "The topic id of the log is another than that of the request.",
    104: "The cluster id of the request is another than that of the server.",
    105: "The transactional id does not exist.",
    106: "The fetch session was used with and without topic ids.",
    107: "The new in-sync set names a replica that may not be in it.",
    108: "The change was applied and has made another broker the leader.",
    109: "The requested offset is kept in tiered storage.",
    110: "The member epoch is fenced; the member has to join again.",
    111: "The instance id is still held by another member of the group.",
    112: "The assignor, or its range of versions, is not supported by the group.",
    113: "The member epoch is stale; the member learns the current one by its heartbeat.",
    114: "The request was sent to an endpoint of the wrong type.",
    115: "The type of endpoint is not supported.",
    116: "The controller id is not known.",
    117: "The subscription of the metrics has changed since the client learned of it.",
    118: "The pushed metrics are larger than the broker accepts.",
    119: "The registration is invalid.",
    120: "The transaction met an error after which it can only be aborted.",
    121: "The record is not in a state that allows this operation.",
    122: "The share session does not exist.",
    123: "The epoch of the share session is invalid.",
    124: "The share coordinator's state epoch does not match.",
    125: "The voter key is not that of the receiving replica.",
    126: "The voter is already in the set of voters.",
    127: "The voter is not in the set of voters.",
    128: "The regular expression is invalid.",
    129: "The client's metadata is stale; it has to bootstrap again.",
    130: "The topology of the streams group is invalid.",
    131: "The topology epoch of the streams group is invalid.",
    132: "The topology epoch of the streams group is stale.",
    133: "The broker holds as many share sessions as it may.",
}


class KafkaError(Exception):
    """A failure with a code that a client understands, and a message when there is more to say.

    `message` stays None when the text would be the code's generic one: several responses send a
    null message then, and clients print their own.
    """

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message or self.code.text}"


class MalformedFrame(Exception):
    """Bytes that no Kafka client sends: the connection they came from is closed."""
