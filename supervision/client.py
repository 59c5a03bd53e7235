"""Asks the fork server or any actor from outside the tree: for the command line and tests. Blocks, with a deadline."""

from __future__ import annotations

import os
import select
import socket
import time
from pathlib import Path
from typing import TypeVar

from .errors import AskError, NotRunning, OtherVersion, error_reason
from .message import Message
from .messaging.names import Names, NoSuchActor
from .messaging.wire import Frame, FrameReader, FrameWriter, WireError, encode
from .protocol import FORK_SERVER

R = TypeVar("R", bound=Message)


class Client:
    """The client of the agent with that run directory."""

    def __init__(self, run_dir: Path) -> None:
        """Raises AskError if no agent has run there."""
        try:
            self._names = Names(run_dir / "names", make=False)
        except (FileNotFoundError, NotADirectoryError):
            raise AskError(f"no agent runs on {run_dir}") from None

    def ask(self, message: Message, reply: type[R], *, name: str = FORK_SERVER, timeout: float = 5.0) -> R:
        """Send a question and wait for its answer. Raises AskError (NotRunning, OtherVersion), PeerRefused."""
        end = time.monotonic() + timeout
        try:
            sock, _ = self._names.connect(name)
        except NoSuchActor:
            raise NotRunning(f"{name} is not there") from None
        with sock:
            try:
                answer = _exchange(sock, encode(f"client-{os.getpid()}", message, ask=1), end)
            except (EOFError, ConnectionError):
                raise AskError(f"{name} closed the connection before it answered") from None
            except WireError as error:
                raise OtherVersion(f"{name} runs another version than this command: {error}") from error
            except OSError as error:
                raise AskError(f"{name}: {error_reason(error)}") from error
        if answer is None:
            raise AskError(f"{name} did not answer {type(message).__name__} within {timeout:g} s")
        if not isinstance(answer, reply):
            raise AskError(f"{name} answered {type(message).__name__} with {answer}")
        return answer

    def close(self) -> None:
        os.close(self._names.fd)


def _exchange(sock: socket.socket, body: bytes, end: float) -> Message | None:
    """The answer; None at the end of the time. Raises EOFError, OSError, WireError."""
    reader, writer = FrameReader(), FrameWriter()
    writer.add(body)
    unsent = b""
    while (left := end - time.monotonic()) > 0:
        unsent = unsent or writer.take()
        poll = select.poll()  # select(2) takes no descriptor above 1023, which a program of many connections has
        poll.register(sock, select.POLLIN | (select.POLLOUT if unsent else 0))
        events = next((events for _, events in poll.poll(1000 * left)), 0)
        if events & select.POLLOUT:
            unsent = unsent[sock.send(unsent) :]
        if events & ~select.POLLOUT:
            data = sock.recv(256 * 1024)
            if not data:
                raise EOFError
            for item in reader.feed(data):
                if isinstance(item, Frame) and item.answer:
                    return item.message()
    return None
