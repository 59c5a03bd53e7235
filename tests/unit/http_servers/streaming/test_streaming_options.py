"""What callers may ask of exec, attach and port-forward."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.http_servers.streaming.options import OptionsError, Streams, command, ports, streams


def test_streams_are_requested_one_by_one() -> None:
    assert streams({"output": ["1"], "error": ["1"]}) == Streams(False, True, True, False)
    assert streams({"input": ["true"]}) == Streams(True, False, False, False)


def test_a_terminal_has_one_output() -> None:
    assert streams({"output": ["1"], "error": ["1"], "tty": ["1"]}) == Streams(False, True, False, True)


def test_the_container_may_decide_whether_there_is_a_terminal() -> None:
    assert streams({"output": ["1"], "tty": ["1"]}, tty=False).tty is False


@pytest.mark.parametrize("query", [{}, {"output": ["0"]}, {"error": ["1"], "tty": ["1"]}, {"output": ["yes"]}])
def test_a_request_for_no_stream_is_refused(query: dict[str, list[str]]) -> None:
    with pytest.raises(OptionsError, match="at least 1 of stdin, stdout, stderr"):
        streams(query)


def test_a_command_has_its_words_in_order() -> None:
    assert command({"command": ["sh", "-c", " a b "]}) == ["sh", "-c", " a b "]
    with pytest.raises(OptionsError):
        command({})


def test_a_websocket_names_its_ports_before() -> None:
    assert ports({"port": ["80,443", "8080"]}, websocket=True) == [80, 443, 8080]
    assert ports({}, websocket=False) == []
    with pytest.raises(OptionsError, match="is required"):
        ports({}, websocket=True)
    with pytest.raises(OptionsError, match="cannot be empty"):
        ports({"port": ["80", ""]}, websocket=True)


def is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536


@given(st.one_of(st.text(), st.text("0123456789", min_size=1, max_size=6), st.text("0189,+-_ .\u0663", max_size=7)))
@example("9" * 5_000)
@example("65535,00001")
@example("65536")
def test_ports_are_decimal_numbers_from_1_to_65535_of_five_digits(text: str) -> None:
    texts = text.split(",")
    if all(map(is_port, texts)):
        assert ports({"port": [text]}, websocket=True) == [int(one) for one in texts]
    else:
        with pytest.raises(OptionsError):
            ports({"port": [text]}, websocket=True)
