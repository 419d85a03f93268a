"""How a broker joins: it registers, and the first to do so becomes controller.

Both are ephemeral nodes, gone when the broker is. The broker's epoch is the number of the
transaction that registered it, the controller's epoch a counter that only grows: whoever holds an
older one is told so by the store, since every write of a controller checks the version of
`/controller_epoch` (KafkaController.elect, KafkaZkClient.registerBroker of Kafka 3.9).
"""

from typing import NamedTuple

from cluster import znodes
from cluster.controller.messages import LiveBroker
from cluster.store.port import Create, MetadataStore, Operation, Set


class Leadership(NamedTuple):
    """What a controller writes with: its epoch, and the version of the node that keeps it."""

    broker_epoch: int
    controller_epoch: int
    epoch_version: int


async def register_and_lead(store: MetadataStore, broker: LiveBroker, now_ms: int) -> Leadership:
    """Register the only broker of a store and make it controller, in one commit.

    Raises NodeExists or BadVersion when another one is there.
    """
    epoch_node = await store.get(znodes.CONTROLLER_EPOCH)
    endpoints = [
        (listener, endpoint.security_protocol, endpoint.host, endpoint.port)
        for listener, endpoint in broker.endpoints.items()
    ]
    registration = znodes.broker(broker.id)
    operations: list[Operation] = [
        Create(registration, ephemeral=True),
        Set(registration, znodes.encode_broker(endpoints, broker.rack, now_ms), 0),
        Create(znodes.CONTROLLER, znodes.encode_controller(broker.id, now_ms), ephemeral=True),
    ]
    if epoch_node is None:
        epoch, epoch_version = 1, 1
        operations.append(Create(znodes.CONTROLLER_EPOCH, b"0"))
    else:
        epoch, epoch_version = int(epoch_node.data or b"0") + 1, epoch_node.version + 1
    operations.append(Set(znodes.CONTROLLER_EPOCH, b"%d" % epoch, epoch_version - 1))
    await store.multi(operations)
    registered = await store.get(registration)
    assert registered is not None
    return Leadership(registered.created_by, epoch, epoch_version)
