"""Which process listens on a Unix socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from actors.shared.linux.listener_pid import listener_pid


def test_the_process_that_listens_is_found(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        assert listener_pid(str(tmp_path / "s"), 5.0) == os.getpid()


def test_a_socket_without_a_listener_is_an_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        with pytest.raises(ConnectionRefusedError):
            listener_pid(str(tmp_path / "s"), 5.0)
