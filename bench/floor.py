"""The floor: the smallest Python loop that receives, checks the CRC, writes and answers.

It parses nothing it could know beforehand: the batch starts at a fixed place in every frame and
the answer is always the same. What a broker costs above it is what Kafka's rules cost in Python.
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
    buffers: dict[socket.socket, tuple[bytearray, memoryview, int]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                buffer = bytearray(BUFFER_BYTES)
                buffers[connection] = (buffer, memoryview(buffer), 0)
                selector.register(connection, selectors.EVENT_READ)
                continue
            connection = key.fileobj  # type: ignore[assignment]
            buffer, view, filled = buffers[connection]
            received = connection.recv_into(view[filled:])
            if not received:
                selector.unregister(connection)
                connection.close()
                del buffers[connection]
                continue
            filled += received
            position = answers = 0
            while filled - position >= 4:
                end = position + 4 + int.from_bytes(view[position : position + 4], "big")
                if end > filled:
                    break
                batch = view[position + batch_at : end]
                crc32c(batch[21:])
                os.write(target, batch)
                position = end
                answers += 1
            buffer[: filled - position] = view[position:filled]
            buffers[connection] = (buffer, view, filled - position)
            if answers:
                connection.sendall(answer * answers)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
