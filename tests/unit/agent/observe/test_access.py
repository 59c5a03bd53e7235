"""Who may look at the page of `supervise observe`."""

from __future__ import annotations

import pytest

from actors.agent.observe.access import SessionAccess, host_allowed, origin_allowed


def test_the_token_opens_one_session_and_no_second_one() -> None:
    access = SessionAccess()
    session = access.open(access.token)
    assert session
    assert access.open(access.token) == ""
    assert access.admits(session)


def test_a_token_opens_one_session_only() -> None:
    access = SessionAccess()
    assert not access.is_spent(access.token)
    access.open(access.token)
    assert access.is_spent(access.token)
    assert not access.is_spent("")


def test_no_request_is_admitted_before_the_session_is_opened() -> None:
    access = SessionAccess()
    assert not access.admits("")
    assert not access.admits(access.token)


def test_a_wrong_token_opens_no_session_and_does_not_use_up_the_right_one() -> None:
    access = SessionAccess()
    assert access.open("") == ""
    assert access.open(access.token + "x") == ""
    assert access.open("\u00e9") == ""
    assert access.open(access.token)


def test_tokens_and_sessions_differ_each_time() -> None:
    first, second = SessionAccess(), SessionAccess()
    assert first.token != second.token
    assert not second.admits(first.open(first.token))


@pytest.mark.parametrize("host", ["127.0.0.1:4000", "localhost:4000", "localhost", "[::1]:4000", "LOCALHOST:1"])
def test_names_of_loopback_are_allowed(host: str) -> None:
    assert host_allowed(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "a@evil", "[::1", "10.0.0.1"]
)
def test_a_name_that_points_to_loopback_is_not_a_name_of_loopback(host: str) -> None:
    assert not host_allowed(host)


def test_an_order_needs_the_page_s_own_origin() -> None:
    assert origin_allowed("http://localhost:9000", "localhost:9000")
    assert not origin_allowed("", "localhost:9000")
    assert not origin_allowed("null", "localhost:9000")
    assert not origin_allowed("http://localhost:9001", "localhost:9000")
    assert not origin_allowed("https://evil.example", "evil.example")
    assert not origin_allowed("http://evil.example", "evil.example")
