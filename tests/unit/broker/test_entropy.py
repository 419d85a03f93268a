"""Numbers stay in range, ids have Kafka's form."""

from broker.entropy import SystemEntropy
from protocol.model import topic_id_from_text, topic_id_to_text

ENTROPY = SystemEntropy()


def test_numbers_are_below_the_stop() -> None:
    assert {ENTROPY.randrange(3) for _ in range(200)} == {0, 1, 2}


def test_unique_texts_are_32_hex_digits() -> None:
    text = ENTROPY.unique()
    assert len(text) == 32
    assert int(text, 16) >= 0
    assert text != ENTROPY.unique()


def test_ids_read_back_and_never_begin_with_a_dash() -> None:
    for _ in range(300):
        assert not topic_id_to_text(ENTROPY.topic_id()).startswith("-")
        cluster_id = ENTROPY.cluster_id()
        assert len(topic_id_from_text(cluster_id)) == 16
        assert cluster_id[0] != "-"
