"""The request of a probe or hook, with the headers of its manifest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.http_get.errors import ExchangeError
from actors.shared.http_get.request import Headers, request
from actors.shared.http_get.url import parse, probe_url


def lines(*headers: tuple[str, str], url: str = "http://10.1.0.2:80/") -> list[str]:
    return request(parse(url), list(headers), "kube-probe/1.36").decode().split("\r\n")[1:-2]


DEFAULT = ["Host: 10.1.0.2:80", "User-Agent: kube-probe/1.36", "Accept: */*", "Connection: close"]


def test_a_request_has_one_line_of_each_default():
    assert lines() == DEFAULT
    assert request(parse("http://h/a?b"), [], "x").startswith(b"GET /a?b HTTP/1.1\r\nHost: h\r\n")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("host", "web.local")], ["Host: web.local", *DEFAULT[1:]]),
        ([("Host", "")], DEFAULT),
        ([("Host", "a/b c")], ["Host: ", *DEFAULT[1:]]),
        ([("user-agent", "me"), ("User-Agent", "you")], [DEFAULT[0], "User-Agent: me", *DEFAULT[2:]]),
        ([("User-Agent", "")], [DEFAULT[0], *DEFAULT[2:]]),
        ([("Accept", "")], [*DEFAULT[:2], DEFAULT[3]]),
        ([("Accept", ""), ("Accept", "a/b")], [*DEFAULT[:2], DEFAULT[3]]),
        ([("accept", "a/b"), ("Accept", "")], [*DEFAULT[:2], "Accept: a/b", "Accept: ", DEFAULT[3]]),
        ([("x-b", "1"), ("X-A", " 2 "), ("X-B", "3")], [*DEFAULT, "X-A: 2", "X-B: 1", "X-B: 3"]),
        ([("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("Trailer", "X")], DEFAULT),
        ([("Connection", "keep-alive")], [*DEFAULT[:3], "Connection: keep-alive", DEFAULT[3]]),
        ([("Connection", "Close")], [*DEFAULT[:3], "Connection: Close"]),
        (
            [("Connection", "Upgrade"), ("Upgrade", "websocket")],
            [*DEFAULT[:3], "Connection: Upgrade", "Upgrade: websocket"],
        ),
    ],
)
def test_headers_of_the_manifest_are_sent_as_by_the_kubelet(headers, expected):
    assert lines(*headers) == expected


def test_the_zone_of_an_address_stays_on_this_host():
    assert lines(url=str(probe_url("HTTP", "fe80::1%eth0", 80, "/")))[0] == "Host: [fe80::1]:80"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("x-a", "1\r\nB: 2", 'net/http: invalid header field value for "X-A"'),
        ("X A", "1", 'net/http: invalid header field name "X A"'),
    ],
)
def test_a_header_that_cannot_be_sent_is_named(name, value, text):
    with pytest.raises(ExchangeError) as refused:
        lines((name, value))
    assert str(refused.value) == text


@given(st.text(max_size=30), st.text(max_size=20))
def test_nothing_in_a_manifest_makes_a_second_line(path, value):
    headers: Headers = [("X", value)]
    try:
        made = request(probe_url("HTTP", "h", 80, path), headers, "me")
    except ExchangeError:
        return
    assert made.count(b"\r\n") == 7
    assert made.index(b" HTTP/1.1\r\n") == made.index(b"\r\n") - 9
