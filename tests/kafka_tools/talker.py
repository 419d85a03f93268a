"""One blocking connection that sends requests and decodes what comes back.

Each answer must also encode again to the bytes it came in: so every codec is held to Kafka's
encoder in every version that is talked here.
"""

import enum
import socket
import struct

from protocol.headers import decode_response_header, encode_request
from protocol.schema.message import RESPONSES, Request, Response

TIMEOUT_SECONDS = 5
CORRELATION_ID = 77


class NoAnswer(enum.Enum):
    """What can come instead of an answer."""

    CLOSED = "connection closed"
    SILENT = "no answer"

    def __repr__(self) -> str:
        return self.value


class Talker:
    """Talks to one broker, over a new connection where the last one was closed."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self._socket: socket.socket | None = None

    def ask(self, request: Request, version: int) -> Response | NoAnswer:
        """The answer to a request."""
        self.send(encode_request(request, version, CORRELATION_ID, "conformance"))
        return self.answer(request.api_key, version)

    def send(self, frame: bytes) -> None:
        """Send bytes as they are."""
        if self._socket is None:
            self._socket = socket.create_connection(self.address, TIMEOUT_SECONDS)
        self._socket.sendall(frame)

    def answer(self, api_key: int, version: int) -> Response | NoAnswer:
        """The next answer on the connection, read as one to such a request."""
        size = self._read(4)
        if isinstance(size, NoAnswer):
            return size
        frame = self._read(*struct.unpack(">i", size))
        if isinstance(frame, NoAnswer):
            return frame
        correlation_id, start = decode_response_header(frame, api_key, version)
        assert correlation_id == CORRELATION_ID
        response = RESPONSES[api_key].decode(frame, version, start)
        again = response.encode(version)
        assert again == frame[start:], f"{response!r} was {frame[start:].hex()}, is {again.hex()}"
        return response

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _read(self, size: int) -> bytes | NoAnswer:
        assert self._socket is not None
        data = b""
        while len(data) < size:
            try:
                piece = self._socket.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            except TimeoutError:
                self.close()
                return NoAnswer.SILENT
            if not piece:
                self.close()
                return NoAnswer.CLOSED
            data += piece
        return data
