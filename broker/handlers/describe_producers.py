"""DescribeProducers (61): the producers a partition remembers, asked of its leader (KIP-664)."""

from broker.context import RequestContext
from broker.replication.replica_manager import ReplicaManager
from cluster.controller.topics import name_error
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.model import TopicPartition


def handle_describe_producers(
    _: RequestContext, request: DescribeProducersRequest, *, replicas: ReplicaManager
) -> DescribeProducersResponse:
    """Answer each partition; a refused topic is refused with a text for all its partitions."""
    response = DescribeProducersResponse()
    for topic in request.topics:
        refusal = _topic_refusal(topic.name, replicas.metadata)
        answers = []
        for index in topic.partition_indexes:
            answer = PartitionResponse(partition_index=index)
            answers.append(answer)
            if refusal is not None:
                answer.error_code, answer.error_message = refusal.code, refusal.message
                continue
            try:
                answer.active_producers = _producers(replicas, TopicPartition(topic.name, index))
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
        response.topics.append(TopicResponse(name=topic.name, partitions=answers))
    return response


def _topic_refusal(name: str, metadata: MetadataCache) -> KafkaError | None:
    wrong = name_error(name)
    if wrong is not None:
        return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    if metadata.topic(name) is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return KafkaError(code, code.text)
    return None


def _producers(replicas: ReplicaManager, topic_partition: TopicPartition) -> list[ProducerState]:
    log = replicas.hosted(topic_partition).leader_log()
    return [
        ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=producer.transaction_first_offset,
        )
        for producer in log.active_producers()
    ]
