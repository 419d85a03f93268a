"""A child process for work that is CPU-bound in Python: it has a GIL of its own.

```text
 parent, a worker thread                      child
 call(function, *arguments) ── CALL ────────> imports the function's module, runs it
        on_report(value)    <── REPORT* ───── report(value)
        this process's log  <── LOG* ──────── what the function logs
        returns or raises   <── RESULT|ERROR
```
A frame is a u64 length and a pickle of (kind, value); both ends are the same code, so pickle is
safe and functions travel by name. The child is a fresh interpreter, not a fork: a fork would take
over locks held by threads it does not have, and share pages that both then copy.

It lives no longer than its parent: a thread of it waits on the socket, and the end of the stream
ends the process in the middle of whatever it does. `close()` kills it just so. What it writes must
therefore stand being stopped at any system call, as it must for a power cut.

Ctrl-C and SIGTERM reach the process group; the child ignores both, the parent decides.
"""

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from struct import Struct
from typing import Any, Final, TypeVar

T = TypeVar("T")

_LENGTH: Final = Struct(">Q")
_CALL, _REPORT, _LOG, _RESULT, _ERROR = range(5)
_REAP_S: Final = 5.0
"""A killed process ends at once, unless its disk hangs: nobody waits for that longer."""


class HelperDied(Exception):
    """The helper process ended, or was closed, before it answered."""


class HelperProcess:
    """Runs functions one at a time in a child process, which the first call starts.

    Functions must be importable by name; what they keep between calls lies in their modules.
    `on_report` gets, in the calling thread, what a function passes to `report`.
    """

    __slots__ = ("_calling", "_closed", "_lock", "_name", "_nice", "_on_report", "_running")

    def __init__(
        self, name: str, *, nice: int = 0, on_report: Callable[[Any], None] | None = None
    ) -> None:
        self._name = name
        self._nice = nice
        self._on_report = on_report
        self._lock = threading.Lock()
        self._running: _Child | None = None
        self._calling = False
        self._closed = False

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """What `function(*arguments)` returns or raises in the child.

        HelperDied if the process ended before it answered; the next call starts another one.
        OSError where none can be started.
        Blocks; one thread at a time may call.
        """
        child = self._start()
        try:
            child.channel.send(_CALL, (function, arguments))
            result: T = self._answer(child.channel)
            return result
        except (EOFError, ConnectionError) as error:
            raise HelperDied(f"{self._name}: the process ended while it worked") from error
        finally:
            self._called(child)

    def close(self) -> None:
        """End the child now, whatever it does; from any thread, more than once.

        A call under way, and every later one, raises HelperDied.
        """
        with self._lock:
            self._closed = True
            child = self._running
            if child is None:
                return
            child.end()
            if not self._calling:
                self._drop(child)

    @property
    def pid(self) -> int | None:
        """Process id of the child; None while there is none."""
        child = self._running
        return None if child is None else child.process.pid

    def _start(self) -> "_Child":
        with self._lock:
            assert not self._calling, f"{self._name} does one thing at a time"
            if self._closed:
                raise HelperDied(f"{self._name}: closed")
            if self._running is not None and self._running.process.poll() is not None:
                self._drop(self._running)
            if self._running is None:
                self._running = _Child(self._name, self._nice)
            self._calling = True
            return self._running

    def _called(self, child: "_Child") -> None:
        """Keep the child for the next call if its stream is whole."""
        with self._lock:
            self._calling = False
            if self._closed or child.channel.broken:
                child.end()
                self._drop(child)

    def _drop(self, child: "_Child") -> None:
        child.channel.close()
        self._running = None

    def _answer(self, channel: "_Channel") -> Any:
        while True:
            kind, value = channel.receive()
            if kind == _RESULT:
                return value
            if kind == _ERROR:
                raise value
            if kind == _LOG:
                _log_again(value)
            elif self._on_report is not None:
                self._on_report(value)


def report(value: object) -> None:
    """Hand the parent a value while the function still runs; nothing outside a helper process."""
    if _to_parent is not None:
        _to_parent.send(_REPORT, value)


class _Child:
    """A started process, and the channel to it."""

    __slots__ = ("channel", "process")

    def __init__(self, name: str, nice: int) -> None:
        ours, theirs = socket.socketpair()
        try:
            self.process = _started(theirs, name, nice)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.channel = _Channel(ours)

    def end(self) -> None:
        """Kill and reap."""
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_REAP_S)


def _started(theirs: socket.socket, name: str, nice: int) -> "subprocess.Popen[bytes]":
    """The process; it looks for our packages where they were found here: a checkout, a wheel."""
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; "
        f"serve({theirs.fileno()}, {nice}, {logging.getLogger().level})"
    )
    flags = ["-P", "-B"] if sys.dont_write_bytecode else ["-P"]
    return subprocess.Popen(
        [sys.executable, *flags, "-c", program, name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )


class _Channel:
    """Frames over a socket. `broken` once a frame went or came in part, or the other end left."""

    __slots__ = ("_sending", "_socket", "broken")

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._sending = threading.Lock()
        self.broken = False

    def send(self, kind: int, value: object) -> None:
        """Send a frame. What cannot be pickled raises before anything was sent."""
        frame = pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)
        with self._sending:
            try:
                self._socket.sendall(_LENGTH.pack(len(frame)))
                self._socket.sendall(frame)
            except BaseException:
                self.broken = True
                raise

    def receive(self) -> tuple[int, Any]:
        """The next frame's kind and value."""
        kind, value = pickle.loads(self.receive_frame())
        return kind, value

    def receive_frame(self) -> bytearray:
        """The next frame, pickled; EOFError or ConnectionError when no whole one comes."""
        try:
            (length,) = _LENGTH.unpack(self._receive(_LENGTH.size))
            return self._receive(length)
        except BaseException:
            self.broken = True
            raise

    def _receive(self, length: int) -> bytearray:
        data = bytearray(length)
        view = memoryview(data)
        while view:
            count = self._socket.recv_into(view)
            if count == 0:
                raise EOFError
            view = view[count:]
        return data

    def close(self) -> None:
        """Give the descriptor up."""
        self._socket.close()


def _log_again(fields: dict[str, Any]) -> None:
    """Log here what was logged in the child."""
    record = logging.makeLogRecord(fields)
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)


# The child's side.

_to_parent: _Channel | None = None


class _LogToParent(logging.Handler):
    """Sends records to the parent, their arguments already written into the message."""

    def __init__(self, channel: _Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        fields = dict(record.__dict__, msg=record.getMessage(), args=None, exc_info=None)
        if record.exc_info:
            fields["exc_text"] = logging.Formatter().formatException(record.exc_info)
        self._channel.send(_LOG, fields)


def serve(descriptor: int, nice: int, log_level: int) -> None:
    """Answer calls that come over a socket until it ends, and the process with it."""
    global _to_parent  # noqa: PLW0603 - a process has one parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(nice)
    channel = _to_parent = _Channel(socket.socket(fileno=descriptor))
    logging.basicConfig(handlers=[_LogToParent(channel)], level=log_level, force=True)
    calls: SimpleQueue[bytearray] = SimpleQueue()
    threading.Thread(target=_listen, args=(channel, calls), daemon=True).start()
    while True:
        answer(channel, calls.get())


def _listen(channel: _Channel, calls: "SimpleQueue[bytearray]") -> None:
    """Pass calls on; end the process when no parent is there to make another."""
    with suppress(EOFError, OSError):
        while True:
            calls.put(channel.receive_frame())
    os._exit(0)


def answer(channel: _Channel, call: bytes | bytearray) -> None:
    """Do one call and send what came of it."""
    try:
        _, (function, arguments) = pickle.loads(call)
        channel.send(_RESULT, function(*arguments))
    except BaseException as error:
        channel.send(_ERROR, _portable(error))


def _portable(error: BaseException) -> BaseException:
    """The error with its traceback as a note; one that pickle cannot carry is told as text."""
    where = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"In the helper process:\n{where}")
    carried: BaseException = copy
    return carried
