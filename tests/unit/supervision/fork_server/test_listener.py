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
