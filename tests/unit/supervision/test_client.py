"""What somebody from outside is told who asks an actor that does not answer as expected."""

from __future__ import annotations

import fcntl
import resource
import socket
import time
from pathlib import Path

import pytest

from supervision import client
from supervision.errors import OtherVersion
from supervision.messaging.names import Names
from supervision.messaging.wire import FrameWriter, WireError, encode
from supervision.protocol import Done, GetTree, Tree


def test_an_answer_of_an_unregistered_type_is_reported_as_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise WireError("unknown message type 'Old'")

    monkeypatch.setattr(client, "_exchange", unknown)
    names = Names(tmp_path / "names")
    with names.listen("fork_server", 1):
        names.publish("fork_server", 1)
        asking = client.Client(tmp_path)
        with pytest.raises(OtherVersion, match=r"fork_server runs another version than this command: .* 'Old'"):
            asking.ask(GetTree(), Tree)
        asking.close()
    names.remove()


def test_a_program_with_more_than_a_thousand_open_files_is_answered_too() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    ours, peer = socket.socketpair()
    with ours, peer, socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 1100)) as high:
        writer = FrameWriter()
        writer.add(encode("fork_server", Done("so"), answer=1))
        peer.sendall(writer.take())
        assert client._exchange(high, encode("client", GetTree(), ask=1), time.monotonic() + 30) == Done("so")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
