from protocol.errors import ErrorCode, KafkaError


def test_codes_are_those_of_kafka_4_3() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))
    assert ErrorCode(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ErrorCode(133) is ErrorCode.SHARE_SESSION_LIMIT_REACHED


def test_every_code_has_a_text_of_its_own() -> None:
    texts = [code.text for code in ErrorCode]
    assert all(texts)
    assert len(set(texts)) == len(texts)


def test_retriable_codes() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.MESSAGE_TOO_LARGE.retriable
    assert sum(code.retriable for code in ErrorCode) == 32


def test_an_error_carries_its_code_and_message() -> None:
    plain = KafkaError(ErrorCode.INVALID_REQUEST)
    assert plain.message is None
    assert str(plain) == f"INVALID_REQUEST: {ErrorCode.INVALID_REQUEST.text}"
    assert str(KafkaError(ErrorCode.INVALID_CONFIG, "no")) == "INVALID_CONFIG: no"
