"""One client connection: a socket, a decoder, and at most one unfinished answer.

    readable → receive → frames → dispatch … dispatch → one send          a turn
                           └ parked: stop here; whole frames behind it stay aside
                                               └ socket full: stop here until writable

While an answer is pending or unsent no further request is looked at: requests are handled one at a
time, answers leave in order, and a peer that does not read costs one answer, not a queue of them.
Reading is not switched off for that, as the answer is nearly always there before more
bytes are: the reader goes when bytes do come, and comes back when the answer is out.

Nothing here is allocated for an idle connection: no buffer, no task, no timer.
Source: Kafka's `SocketServer` and `KafkaChannel` mute a channel likewise.
"""

import logging
import socket
from typing import TYPE_CHECKING, cast

from broker.context import Peer
from broker.network.answers import CLOSE, Answers, LedgerEntry, Outcome, PendingAnswer, settle
from broker.network.frames import FrameDecoder, FrameSizeError
from broker.network.transmission import COLD, DONE, BrokenAnswer, ColdPiece, Data, Transmission

if TYPE_CHECKING:
    from broker.network.surroundings import Surroundings

_logger = logging.getLogger(__name__)

TURN_FRAMES = 64
"""Requests of one connection handled before others get their turn."""

TURN_ANSWER_BYTES = 256 * 1024
"""Answers collected before they are sent."""


class Connection:
    """The server's end of one socket."""

    __slots__ = (
        "_decoder",
        "_fd",
        "_finishing",
        "_held",
        "_ledger",
        "_pending",
        "_reading",
        "_scheduled",
        "_shared",
        "_socket",
        "_transmission",
        "_working_bytes",
        "_writing",
        "last_active",
        "peer",
    )

    def __init__(
        self, sock: socket.socket, peer: Peer, max_request_bytes: int, shared: "Surroundings"
    ) -> None:
        self.peer = peer
        self.last_active = shared.monotonic()
        self._socket = sock
        self._fd = sock.fileno()
        self._shared = shared
        self._decoder = FrameDecoder(max_request_bytes)
        self._pending: PendingAnswer | None = None
        self._transmission: Transmission | None = None
        self._ledger: list[LedgerEntry] = []
        self._held = 0
        self._working_bytes = 0
        self._reading = False
        self._writing = False
        self._scheduled = False
        self._finishing = False

    def start(self) -> None:
        """Begin to read."""
        self._read_again()

    @property
    def closed(self) -> bool:
        """The socket is gone."""
        return self._fd < 0

    @property
    def busy(self) -> bool:
        """A request is being worked on, or its answer is on its way."""
        return self._pending is not None or self._transmission is not None or self._scheduled

    @property
    def waits_for_peer(self) -> bool:
        """Nothing happens before the peer sends a request or takes more of an answer.

        Or it has sent more behind a request that waits: then a lost peer is not noticed.
        """
        return self._writing or not self.busy or (self._pending is not None and not self._reading)

    def finish(self) -> None:
        """Close when what was received whole is answered; at once when there is nothing."""
        self._finishing = True
        if not self.busy:
            self.close()

    def close(self) -> None:
        """Let go of the socket, the unsent answer and the pending one."""
        if self._fd < 0:
            return
        loop = self._shared.loop
        if self._reading:
            loop.remove_reader(self._fd)
        if self._writing:
            loop.remove_writer(self._fd)
        self._reading = self._writing = False
        self._fd = -1
        self._socket.close()
        memory = self._shared.memory
        memory.change(-self._held)
        self._held = 0
        memory.forget(self)
        if self._transmission is not None:
            self._transmission.release()
            self._transmission = None
        pending, self._pending = self._pending, None
        self._shared.on_closed(self)
        if pending is not None:
            pending.abandon()

    def room_again(self) -> None:
        """There is memory for a large frame's buffer: go on receiving it.

        The wait was ours, so the peer has all its time again before it counts as idle.
        """
        self.last_active = self._shared.monotonic()
        if self._fd >= 0 and not self.busy:
            self._read_again()

    def _on_readable(self) -> None:
        if self._pending is not None or self._transmission is not None or self._scheduled:
            self._on_readable_while_busy()
            return
        shared = self._shared
        decoder = self._decoder
        if decoder.needs_room and not self._grow():
            return
        try:
            targets = decoder.targets(shared.buffer)
            if len(targets) == 1:
                received = self._socket.recv_into(targets[0])
            else:
                received = self._socket.recvmsg_into(targets)[0]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if not received:
            self.close()
            return
        decoder.received(shared.buffer, received)
        self._turn()

    def _on_readable_while_busy(self) -> None:
        """More requests wait for their turn in the socket; a lost peer is not waited for."""
        if self._scheduled:
            return
        if self._pending is not None:
            try:
                if not self._socket.recv(1, socket.MSG_PEEK):
                    self.close()
                    return
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.close()
                return
        self._stop_reading()

    def _grow(self) -> bool:
        room = self._shared.memory.room_for(self)
        if room == 0:
            self._stop_reading()
            return False
        self._decoder.grow(room)
        self._account()
        return True

    def _turn(self) -> None:
        """Handle what was received, then leave nothing of it in the shared buffer."""
        shared = self._shared
        self.last_active = received_at = shared.monotonic()
        try:
            self._handle_frames(received_at)
        except FrameSizeError as error:
            self._flush()
            self._refuse(error)
        except BrokenAnswer as error:
            self._break_off(error)
        except Exception:
            _logger.exception("Connection %s: turn failed", self.peer.connection_id)
            self.close()
        if self._fd < 0:
            shared.answers.discard()
            return
        more = self._decoder.suspend(shared.memory.room)
        self._account()
        self._go_on(more=more)

    def _handle_frames(self, received_at: float) -> None:
        shared = self._shared
        answers = shared.answers
        next_frame = self._decoder.next_frame
        dispatch = shared.handler.dispatch
        peer = self.peer
        for _ in range(TURN_FRAMES):
            frame = next_frame()
            if frame is None:
                break
            outcome = dispatch(frame, peer, received_at, answers)
            if outcome is Outcome.ANSWERED:
                if not answers.has_slices and answers.nbytes < TURN_ANSWER_BYTES:
                    continue
                self._flush()
            elif outcome is CLOSE:
                self._flush()
                self.close()
            else:
                assert not isinstance(outcome, Outcome)
                self._wait_for(outcome, frame)
            if self._fd < 0 or self._pending is not None or self._transmission is not None:
                return
        self._flush()

    def _wait_for(self, pending: PendingAnswer, frame: memoryview) -> None:
        self._flush()
        if self._fd < 0:
            pending.attach(_discard)
            pending.abandon()
            return
        self._pending = pending
        if len(frame) > len(self._shared.buffer):
            self._working_bytes = len(frame)
        pending.attach(self._deliver)

    def _deliver(self, answers: Answers | None) -> None:
        """A pending answer is there, perhaps after the connection is gone."""
        if self._fd < 0:
            _discard(answers)
            return
        self._pending = None
        self._working_bytes = 0
        if answers is None:
            self.close()
            return
        self._send(answers)
        if self._fd >= 0:
            self._account()
            self._go_on(more=self._decoder.has_window)

    def _flush(self) -> None:
        """Send what the frames of this turn were answered with."""
        answers = self._shared.answers
        if answers.ledger or answers.parts:
            self._send(answers)
            answers.clear()

    def _send(self, answers: Answers) -> None:
        """Start sending; what the socket does not take at once goes when it can."""
        if self._transmission is not None:
            self._transmission.append(answers.parts)
            self._ledger = [*self._ledger, *answers.ledger]
            return
        if answers.has_slices:
            self._transmission = Transmission(answers.parts)
            self._ledger = answers.ledger
            self._advance()
            return
        data = b"".join(cast("list[Data]", answers.parts))
        try:
            sent = self._socket.send(data) if data else 0
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.close()
            return
        if sent == len(data):
            settle(answers.ledger, self._shared.monotonic())
            return
        self._transmission = Transmission([memoryview(data)[sent:]])
        self._ledger = answers.ledger
        self._write_later()

    def _advance(self) -> None:
        """Push the transmission on, and see to what it waits for."""
        transmission = self._transmission
        assert transmission is not None
        try:
            progress = transmission.advance(self._socket)
            if progress is COLD:
                self._send_cold(transmission.cold_piece(self._socket))
                return
        except BrokenAnswer as error:
            self._break_off(error)
            return
        except OSError:
            self.close()
            return
        if progress is not DONE:
            self._write_later()
            return
        if self._writing:
            self._shared.loop.remove_writer(self._fd)
            self._writing = False
        self._transmission = None
        self.last_active = now = self._shared.monotonic()
        settle(self._ledger, now)
        self._ledger = []

    def _on_writable(self) -> None:
        self.last_active = self._shared.monotonic()  # The peer has taken something.
        self._advance()
        if self._fd >= 0:
            self._go_on(more=self._decoder.has_window)

    def _write_later(self) -> None:
        if not self._writing:
            self._shared.loop.add_writer(self._fd, self._on_writable)
            self._writing = True

    def _send_cold(self, piece: ColdPiece) -> None:
        if self._writing:
            self._shared.loop.remove_writer(self._fd)
            self._writing = False
        self._shared.workers.submit(piece.send, done=self._cold_sent)

    def _cold_sent(self, sent: int | None, error: BaseException | None) -> None:
        transmission = self._transmission
        if self._fd < 0 or transmission is None:
            return
        if isinstance(error, BrokenAnswer):
            self._break_off(error)
        elif error is not None:
            self.close()
        else:
            transmission.piece_sent(sent or 0)
            self._write_later()

    def _continue(self) -> None:
        self._scheduled = False
        if self._fd >= 0:
            self._turn()

    def _go_on(self, *, more: bool) -> None:
        """Nothing is in the way: handle the frames kept aside, or read."""
        if self.busy:
            return
        if more:
            self._scheduled = True
            self._shared.loop.call_soon(self._continue)
        elif self._finishing:
            self.close()
        elif not self._reading:
            self._read_again()

    def _read_again(self) -> None:
        if not self._reading:
            self._shared.loop.add_reader(self._fd, self._on_readable)
            self._reading = True

    def _stop_reading(self) -> None:
        self._shared.loop.remove_reader(self._fd)
        self._reading = False

    def _account(self) -> None:
        """Report a change of what is held."""
        held = self._decoder.held + self._working_bytes
        change = held - self._held
        if change:
            self._held = held
            memory = self._shared.memory
            memory.change(change)
            if change < 0:
                memory.finished(self)

    def _refuse(self, error: FrameSizeError) -> None:
        self._shared.bad_frames += 1
        self._shared.log.warning(
            "Closing connection %s from %s: %s",
            self.peer.connection_id,
            self.peer.client_host,
            error,
        )
        self.close()

    def _break_off(self, error: BrokenAnswer) -> None:
        self._shared.broken_answers += 1
        self._shared.log.warning(
            "Closing connection %s from %s in the middle of an answer: %s",
            self.peer.connection_id,
            self.peer.client_host,
            error,
        )
        self.close()


def _discard(answers: Answers | None) -> None:
    if answers is not None:
        answers.discard()
