"""What the healthz server answers to any head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.healthz_server import answer


def ask(line: str, *fields: str) -> tuple[str, str, bool]:
    response, keep = answer("\r\n".join([line, *fields]).encode())
    head, _, body = response.decode().partition("\r\n\r\n")
    return head.split("\r\n")[0].removeprefix("HTTP/1.1 "), body, keep


@pytest.mark.parametrize(
    ("line", "status", "body"),
    [
        ("GET /healthz HTTP/1.1", "200 OK", "ok"),
        ("GET /healthz/ HTTP/1.1", "404 Not Found", "404 page not found\n"),
        ("GET /healthz/ping HTTP/1.1", "200 OK", "ok"),
        ("HEAD /healthz HTTP/1.1", "200 OK", ""),
        ("GET /healthz?verbose HTTP/1.1", "200 OK", "[+]ping ok\nhealthz check passed\n"),
        ("GET / HTTP/1.1", "404 Not Found", "404 page not found\n"),
        ("GET /metrics HTTP/1.1", "404 Not Found", "404 page not found\n"),
        ("GET /debug/pprof/ HTTP/1.1", "404 Not Found", "404 page not found\n"),
        ("POST /healthz HTTP/1.1", "405 Method Not Allowed", "method not allowed\n"),
        ("nonsense", "400 Bad Request", "bad request\n"),
    ],
)
def test_only_healthz_is_served(line, status, body):
    assert ask(line)[:2] == (status, body)


@pytest.mark.parametrize(
    ("line", "fields", "keep"),
    [
        ("GET /healthz HTTP/1.1", (), True),
        ("GET /healthz HTTP/1.1", ("Connection: close",), False),
        ("GET /healthz HTTP/1.0", (), False),
        ("GET /healthz HTTP/1.0", ("connection: Keep-Alive",), True),
        ("POST /healthz HTTP/1.1", ("Content-Length: 5",), False),
    ],
)
def test_the_connection_stays_open_when_the_client_may_send_more(line, fields, keep):
    assert ask(line, *fields)[2] is keep


@given(st.binary(max_size=300))
def test_any_bytes_get_a_response(head):
    assert answer(head)[0].startswith(b"HTTP/1.1 ")
