"""The floor: the smallest Python loop that receives, checks the CRC, writes and answers.

It parses nothing it could know beforehand: the batch starts at a fixed place in every frame and
the answer is always the same. Each frame is written and answered as it is met. What a broker costs
above it is what Kafka's rules cost in Python; what it costs below, it saves by answering frames
that came together in one call.
"""

import os
import selectors
import socket
import sys

from protocol.crc32c import crc32c

BUFFER_BYTES = 2 << 20


def serve(path: str, batch_at: int, answer: bytes) -> None:
    """Serve until the process is killed; prints its port first."""
    target = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ, Receiver(connection))
            elif not key.data.receive(target, batch_at, answer):
                selector.unregister(key.fileobj)
                key.data.connection.close()


class Receiver:
    """One connection and the buffer its frames arrive in."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.buffer = bytearray(BUFFER_BYTES)
        self.view = memoryview(self.buffer)
        self.start = 0
        self.end = 0

    def receive(self, target: int, batch_at: int, answer: bytes) -> bool:
        """Work off what has arrived; False when the peer is gone."""
        if self.start and BUFFER_BYTES - self.end < BUFFER_BYTES // 2:
            self.end -= self.start
            self.buffer[: self.end] = self.view[self.start : self.start + self.end]
            self.start = 0
        received = self.connection.recv_into(self.view[self.end :])
        self.end += received
        view, start, end = self.view, self.start, self.end
        while end - start >= 4:
            frame_end = start + 4 + int.from_bytes(view[start : start + 4], "big")
            if frame_end > end:
                break
            batch = view[start + batch_at : frame_end]
            crc32c(batch[21:])
            os.write(target, batch)
            self.connection.send(answer)
            start = frame_end
        self.start = start
        return received > 0


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
