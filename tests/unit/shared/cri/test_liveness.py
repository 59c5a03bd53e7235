"""Whether a container runtime answers: hand-written frames against gRPC's own server, and against silence."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.cri import liveness
from tests.support.fake_cri.runtime import FakeRuntime
from tests.support.fake_cri.server import serve


async def test_a_runtime_that_serves_cri_answers(tmp_path: Path) -> None:
    async with serve(FakeRuntime(), tmp_path / "s"):
        assert await asyncio.to_thread(liveness.answers, str(tmp_path / "s"), 10.0)


def test_a_runtime_that_is_stopped_does_not_answer(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        sock.listen()  # the system accepts for a process that does not run
        assert not liveness.answers(path, 0.2)


def test_a_socket_without_a_listener_does_not_answer(tmp_path: Path) -> None:
    assert not liveness.answers(str(tmp_path / "none"), 0.2)


@pytest.mark.parametrize("kind", [liveness._DATA, liveness._HEADERS])
def test_an_error_is_an_answer_too(kind: int) -> None:
    ours, peer = socket.socketpair()
    with ours, peer:
        peer.sendall(liveness._frame(liveness._SETTINGS, 0, 0, b""))
        peer.sendall(liveness._frame(kind, liveness._END_STREAM, liveness._STREAM, b"x"))
        assert liveness._await_answer(ours, time.monotonic() + 10.0)


@given(st.binary(max_size=200))
def test_invalid_data_is_no_answer_and_raises_nothing(data: bytes) -> None:
    ours, peer = socket.socketpair()
    with ours:
        peer.sendall(data)
        peer.close()
        assert liveness._await_answer(ours, time.monotonic() + 10.0) in (True, False)
