"""The load generator: a fixed number of requests over pipelined connections.

It does nothing but count answers and send as many frames again, so that the broker and not the
generator is what saturates; only the broker's processor time is believed anyway.
"""

import selectors
import socket

from bench.wire import Connection, check_produced, fetch_frame, fetched_bytes

RECEIVE_BYTES = 1 << 20


def produce(host: str, port: int, frame: bytes, requests: int, shape: tuple[int, int]) -> None:
    """Send `requests` equal frames over (connections, in flight each); every answer is awaited."""
    connections, in_flight = shape
    selector = selectors.DefaultSelector()
    lanes = []
    for index in range(connections):
        share = requests // connections + (1 if index < requests % connections else 0)
        lane = _Lane(Connection(host, port), frame, share)
        lane.connection.socket.setblocking(False)
        lanes.append(lane)
        lane.send(in_flight)
        selector.register(
            lane.connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, lane
        )
    waiting = len(lanes)
    while waiting:
        for key, events in selector.select():
            lane = key.data
            if events & selectors.EVENT_WRITE:
                lane.write()
            if events & selectors.EVENT_READ:
                lane.read()
            if lane.answered == lane.share:
                selector.unregister(lane.connection.socket)
                lane.connection.close()
                waiting -= 1
            else:
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if lane.unsent else 0)
                if key.events != wanted:
                    selector.modify(lane.connection.socket, wanted, lane)
    selector.close()


class _Lane:
    """One connection: how many frames are queued, sent and answered."""

    def __init__(self, connection: Connection, frame: bytes, share: int) -> None:
        self.connection = connection
        self.frame = frame
        self.share = share
        self.queued = 0
        self.answered = 0
        self.unsent: list[memoryview] = []
        self._received = bytearray()
        self._checked = False

    def send(self, count: int) -> None:
        count = min(count, self.share - self.queued)
        if count > 0:
            self.queued += count
            many = self.frame * count if len(self.frame) < RECEIVE_BYTES // 8 else None
            parts = [many] if many is not None else [self.frame] * count
            self.unsent += [memoryview(part) for part in parts]
            self.write()

    def write(self) -> None:
        while self.unsent:
            try:
                sent = self.connection.socket.send(self.unsent[0])
            except BlockingIOError:
                return
            if sent == len(self.unsent[0]):
                self.unsent.pop(0)
            else:
                self.unsent[0] = self.unsent[0][sent:]

    def read(self) -> None:
        data = self.connection.socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the broker closed the connection")
        self._received += data
        answers = 0
        position = 0
        while len(self._received) - position >= 4:
            size = int.from_bytes(self._received[position : position + 4], "big")
            if len(self._received) - position < size + 4:
                break
            if not self._checked or self.answered + answers + 1 == self.share:
                check_produced(
                    memoryview(bytes(self._received[position + 4 : position + 4 + size]))
                )
                self._checked = True
            position += size + 4
            answers += 1
        del self._received[:position]
        self.answered += answers
        self.send(answers)


def fetch(host: str, port: int, topic: str, total_bytes: int, batch: tuple[int, int]) -> int:
    """Read at least `total_bytes` from the topic's start, 1 MB a request; the bytes got.

    `batch` is (bytes, records) of the equal batches the topic consists of.
    """
    connection = Connection(host, port)
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    batch_bytes, batch_records = batch
    offset = got = 0
    while got < total_bytes:
        size = fetched_bytes(connection.call(fetch_frame(topic, 0, offset, 1 << 20)))
        whole = size // batch_bytes
        assert whole, "the topic ended before the figure did"
        offset += whole * batch_records
        got += whole * batch_bytes
    connection.close()
    return got
