"""What is sent where: requests, ports, commands, and the two messages of gRPC health."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.prober.exec_probe import command_of
from actors.prober.grpc_probe import encoded, status_of, varint
from actors.prober.http_probe import url_of
from actors.prober.outcome import USER_AGENT
from actors.prober.probe_type import TargetError, port_number
from actors.shared.http_get.exchange import request
from actors.shared.kube.container import Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction

WEB = Container(name="c", ports=[ContainerPort(containerPort=8080, name="http")])


def test_a_port_is_a_number_or_the_name_of_one():
    assert (port_number(80, WEB), port_number("http", WEB), port_number("81", WEB)) == (80, 8080, 81)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("https", 'strconv.Atoi: parsing "https": invalid syntax'),
        ("", 'strconv.Atoi: parsing "": invalid syntax'),
        ("-1", "invalid port number: -1"),
        (0, "invalid port number: 0"),
        (70000, "invalid port number: 70000"),
    ],
)
def test_an_invalid_port_is_refused_in_the_kubelets_words(wrong, text):
    with pytest.raises(TargetError) as refused:
        port_number(wrong, WEB)
    assert str(refused.value) == text


def test_the_pods_address_is_the_host_unless_one_is_given():
    assert url_of(HTTPGetAction(port=80, path="x"), WEB, "fd00::1") == "http://[fd00::1]:80/x"
    assert url_of(HTTPGetAction(port=80, host="h", scheme="HTTPS", path="/"), WEB, "") == "https://h:80/"
    assert url_of(HTTPGetAction(port="http", scheme=""), WEB, "10.1.0.2") == "http://10.1.0.2:8080/"


def test_headers_of_the_manifest_win():
    plain = request(urlsplit("http://10.1.0.2:80/a?b"), [], USER_AGENT)
    assert plain == (
        b"GET /a?b HTTP/1.1\r\nHost: 10.1.0.2:80\r\nUser-Agent: kube-probe/1.36\r\n"
        b"Accept: */*\r\nConnection: close\r\n\r\n"
    )
    given_ = request(
        urlsplit("http://h/"), [("host", "web.local"), ("User-Agent", "me"), ("Accept", ""), ("X", "y")], USER_AGENT
    )
    assert given_ == b"GET / HTTP/1.1\r\nHost: web.local\r\nUser-Agent: me\r\nX: y\r\nConnection: close\r\n\r\n"


@given(st.text(max_size=30), st.text(max_size=20))
def test_nothing_in_a_manifest_makes_a_second_line(path, value):
    try:
        made = request(urlsplit("http://h/")._replace(path="/" + path), [("X", value)], USER_AGENT)
    except ValueError:
        assert any(char in value for char in "\r\n\0")
        return
    assert made.count(b"\r\n") == 7
    assert made.index(b" HTTP/1.1\r\n") == made.index(b"\r\n") - 9


def test_commands_take_variables_from_the_manifest_only():
    environment = [EnvVar(name="A", value="1"), EnvVar(name="B", valueFrom=EnvVarSource())]
    container = Container(name="c", env=environment)
    command = ["$(A)", "$(B)", "$$(A)", "$(C) $(A)$", "$"]
    assert command_of(command, container) == ["1", "", "$(A)", "$(C) 1$", "$"]


def test_health_messages_are_coded_as_protocol_buffers_say():
    assert encoded("") == b""
    assert encoded("abc") == b"\x0a\x03abc"
    assert encoded("x" * 300) == b"\x0a\xac\x02" + b"x" * 300
    assert [status_of(each) for each in (b"", b"\x08\x01", b"\x08\x02", b"\x08", b"\x08" + b"\xff" * 20)] == [
        0,
        1,
        2,
        0,
        0,
    ]


@given(st.integers(0, 2**40))
def test_a_varint_comes_back(number):
    assert status_of(b"\x08" + varint(number)) == number
