"""Listening sockets that survive their actor: handed over, inherited, and closed when nobody is to have them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from supervision.fork_server.loop import Loop
from supervision.fork_server.socket_store import SocketStore
from supervision.listeners import Listeners


@pytest.fixture
def store() -> Iterator[SocketStore]:
    found = SocketStore(Loop())
    yield found
    found.ended("server", keep=False)


def _listen() -> list[socket.socket]:
    return [socket.create_server(("127.0.0.1", 0))]


def _refuse() -> list[socket.socket]:
    raise OSError("it is taken")


def _connects(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, 5.0).close()
    except OSError:
        return False
    return True


def _first(store: SocketStore) -> tuple[str, int]:
    """An incarnation listens, and dies by a fault. The address."""
    with store.open("server") as channel:
        (sock,) = Listeners({}, channel).listen("tcp:a", _listen)
        address: tuple[str, int] = sock.getsockname()
        sock.close()
    return address


def test_a_client_can_connect_while_there_is_no_actor_and_the_next_one_accepts_it(store: SocketStore) -> None:
    address = _first(store)
    store.ended("server", keep=True)
    assert _connects(address)
    inherited = {label: [os.dup(fd) for fd in fds] for label, fds in store.of("server").items()}
    (sock,) = Listeners(inherited).listen("tcp:a", _refuse)
    with sock:
        connection, _ = sock.accept()
        connection.close()


def test_every_socket_that_an_actor_made_just_before_its_end_is_kept(store: SocketStore) -> None:
    with store.open("server") as channel:
        listeners = Listeners({}, channel)
        for label in ("tcp:a", "tcp:b", "tcp:c"):
            listeners.listen(label, _listen)[0].close()
    store.ended("server", keep=True)
    assert sorted(store.of("server")) == ["tcp:a", "tcp:b", "tcp:c"]


def test_a_socket_of_another_address_is_created(store: SocketStore) -> None:
    _first(store)
    store.ended("server", keep=True)
    with pytest.raises(OSError, match="it is taken"):
        Listeners(store.of("server")).listen("tcp:b", _refuse)


def test_no_socket_listens_after_an_orderly_end(store: SocketStore) -> None:
    address = _first(store)
    store.ended("server", keep=False)
    assert not _connects(address)
    assert store.fds() == []


def test_kept_sockets_are_private_to_the_fork_server(store: SocketStore) -> None:
    _first(store)
    store.ended("server", keep=True)
    (fds,) = store.of("server").values()
    assert store.fds() == fds
    assert not any(os.get_inheritable(fd) for fd in fds)


def test_an_actor_without_a_channel_listens_by_itself() -> None:
    (sock,) = Listeners().listen("tcp:a", _listen)
    with sock:
        assert _connects(sock.getsockname())
