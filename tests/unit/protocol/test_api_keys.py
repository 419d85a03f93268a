from protocol.api_keys import ApiKey


def test_keys_are_numbered_without_gaps() -> None:
    assert [int(key) for key in ApiKey] == list(range(93))


def test_keys_are_those_of_kafka() -> None:
    assert ApiKey(18) is ApiKey.API_VERSIONS
    assert ApiKey(23) is ApiKey.OFFSET_FOR_LEADER_EPOCH
    assert ApiKey(75) is ApiKey.DESCRIBE_TOPIC_PARTITIONS
    assert ApiKey(92) is ApiKey.DELETE_SHARE_GROUP_OFFSETS
