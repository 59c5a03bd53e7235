"""What the fork server does before the clients do it."""

import socket

import pytest

from actors.shared.api import rehearsal


def test_a_rehearsal_opens_no_connection_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a rehearsal has no audience")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    rehearsal.prepare()
    rehearsal.prepare()
