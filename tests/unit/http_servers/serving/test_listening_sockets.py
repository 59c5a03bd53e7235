"""Which sockets an address of the configuration means."""

from __future__ import annotations

import errno
import socket

import pytest

from actors.http_servers.serving import listening_sockets as module
from actors.http_servers.serving.listening_sockets import listening
from tests.support.tcp_ports import free_port


def connects(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), 5).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0", ""])
def test_a_wildcard_listens_on_both_families(address):
    port = free_port()
    sockets = listening(address, port, 5)
    assert connects("127.0.0.1", port)
    assert connects("::1", port) == (len(sockets) == 2)
    assert {sock.family for sock in sockets} >= {socket.AF_INET}
    for sock in sockets:
        sock.close()


def test_connections_notice_a_client_that_vanishes_without_an_end():
    (listener,) = listening("127.0.0.1", 0, 5)
    client = socket.create_connection(listener.getsockname(), 5)
    connection, _ = listener.accept()
    with listener, client, connection:
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15


@pytest.mark.skipif(not socket.has_ipv6, reason="NOT TESTED: this Python has no IPv6")
def test_both_sockets_are_created_on_a_host_with_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("NOT TESTED: this host has no IPv6")
    sockets = listening("0.0.0.0", free_port(), 5)
    assert [sock.family for sock in sockets] == [socket.AF_INET, socket.AF_INET6]
    for sock in sockets:
        sock.close()


def test_without_ipv6_a_wildcard_listens_on_ipv4(monkeypatch):
    made = module._socket

    def without(family, *rest):
        if family == socket.AF_INET6:
            raise OSError(97, "Address family not supported by protocol")
        return made(family, *rest)

    monkeypatch.setattr(module, "_socket", without)
    (sock,) = listening("::", free_port(), 5)
    assert sock.family == socket.AF_INET
    sock.close()


def test_one_address_is_one_socket_and_a_taken_port_is_an_error():
    port = free_port()
    (sock,) = listening("127.0.0.1", port, 5)
    with pytest.raises(OSError, match="in use"):
        listening("0.0.0.0", port, 5)
    sock.close()


def test_a_wildcard_whose_port_is_taken_in_one_family_is_an_error_and_leaves_no_socket(monkeypatch):
    made, real = [], module._socket

    def one(family, address, port, backlog):
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRINUSE, "taken")
        made.append(real(family, address, port, backlog))
        return made[-1]

    monkeypatch.setattr(module, "_socket", one)
    with pytest.raises(OSError, match="taken"):
        listening("0.0.0.0", 0, 5)
    assert [sock.fileno() for sock in made] == [-1]
