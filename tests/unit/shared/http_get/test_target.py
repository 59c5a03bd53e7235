"""What an HTTPGetAction, or the port of another action, names."""

from __future__ import annotations

import pytest

from actors.shared.http_get.target import TargetError, port_number, url_of
from actors.shared.kube.container import ContainerPort
from actors.shared.kube.handlers import HTTPGetAction

PORTS = [ContainerPort(containerPort=8080, name="http")]


def test_a_port_is_a_number_or_the_name_of_one():
    assert (port_number(80, PORTS), port_number("http", PORTS), port_number("81", PORTS)) == (80, 8080, 81)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("https", 'strconv.Atoi: parsing "https": invalid syntax'),
        ("", 'strconv.Atoi: parsing "": invalid syntax'),
        ("1" * 5000, f'strconv.Atoi: parsing "{"1" * 5000}": value out of range'),
        ("-1", "invalid port number: -1"),
        (0, "invalid port number: 0"),
        (70000, "invalid port number: 70000"),
    ],
)
def test_an_invalid_port_is_refused_in_the_kubelets_words(wrong, text):
    with pytest.raises(TargetError) as refused:
        port_number(wrong, PORTS)
    assert str(refused.value) == text


def test_the_pods_address_is_the_host_unless_one_is_given():
    assert str(url_of(HTTPGetAction(port=80, path="x"), PORTS, "fd00::1")) == "http://[fd00::1]:80/x"
    assert str(url_of(HTTPGetAction(port=80, host="h", scheme="HTTPS", path="/"), PORTS, "")) == "https://h:80/"
    assert str(url_of(HTTPGetAction(port="http", scheme="", path="/"), PORTS, "10.1.0.2")) == "http://10.1.0.2:8080/"


def test_a_host_that_can_be_in_no_url_is_no_target():
    with pytest.raises(TargetError):
        url_of(HTTPGetAction(port=80, host="a b"), PORTS, "")
