"""The control socket of the fork server is made again when somebody has removed it."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from supervision.fork_server.listener import Listener
from supervision.fork_server.loop import Loop
from supervision.fork_server.run_directory import RunDirectory
from supervision.messaging.names import Names
from supervision.messaging.wire import FrameWriter, encode
from supervision.process_messages import Terminate
from supervision.protocol import FORK_SERVER


@pytest.mark.parametrize("failing", ["listen", "publish"])
def test_a_socket_that_cannot_be_made_again_yet_is_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    names = Names(tmp_path)
    listener = Listener(Loop(), names, lambda connection, frame: None)

    def fails(*arguments: object) -> socket.socket:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for file in (FORK_SERVER, f"{FORK_SERVER}#0"):
        (tmp_path / file).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(names, failing, fails)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                listener.restore()
    listener.restore()
    sock, _ = names.connect(FORK_SERVER)
    sock.close()
    os.close(names.fd)


def test_a_connection_too_many_closes_the_one_that_was_silent_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervision.fork_server.listener._MOST_CONNECTIONS", 2)
    names, watched = Names(tmp_path), dict[int, Any]()

    def watch(fd: int, readable: object, writable: object = None) -> None:
        watched[fd] = readable

    heard = list[Any]()
    loop: Any = SimpleNamespace(watch=watch, forget=lambda fd: watched.pop(fd))
    listener = Listener(loop, names, lambda connection, frame: heard.append(connection))
    accept, clients = watched[listener.fds()[0]], list[socket.socket]()

    def connect() -> int:
        clients.append(names.connect(FORK_SERVER)[0])
        accept()
        return listener.fds()[-1]

    first, _ = connect(), connect()
    (writer := FrameWriter()).add(encode(FORK_SERVER, Terminate(1.0)))
    clients[0].sendall(writer.take())
    watched[first]()
    assert len(heard) == 1
    connect()
    assert len(listener.fds()) == 3
    clients[0].setblocking(False)
    clients[1].settimeout(10)
    assert clients[1].recv(1) == b""  # the one that never said anything
    with pytest.raises(BlockingIOError):
        clients[0].recv(1)
    assert heard[0].is_open
    for fd in listener.fds():
        os.close(fd)
    for client in clients:
        client.close()
    os.close(names.fd)


def test_the_sockets_are_looked_at_until_that_succeeds(tmp_path: Path) -> None:
    directory, due = RunDirectory(tmp_path), list[Any]()
    loop: Any = SimpleNamespace(call_later=lambda _seconds, call: due.append(call))
    results, looks = iter([False, False, True, True]), list[bool]()

    def look() -> bool:
        looks.append(next(results))
        return looks[-1]

    directory.watch(loop, lambda: None, look)
    for _ in range(5):
        due.pop()()
    assert looks == [False, False, True]
    directory.remove()
