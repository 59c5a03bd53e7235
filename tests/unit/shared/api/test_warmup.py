"""What the fork server does before the clients do it."""

import os
import socket

import pytest

from actors.shared.api import warmup


def test_the_warmup_opens_no_connection_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the warm-up connects to nobody")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    warmup.prepare()
    before = sorted(os.listdir("/proc/self/fd"))
    warmup.prepare()
    assert sorted(os.listdir("/proc/self/fd")) == before
