"""Texts as Go prints them."""

from __future__ import annotations

import pytest

from actors.shared.kube.go_text import client_details, quoted, rpc_error


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", '""'),
        ("plain \u00e4 \u4e16", '"plain \u00e4 \u4e16"'),
        ('say "a\\b"', r'"say \"a\\b\""'),
        ("a\nb\tc\r\a\b\f\v", r'"a\nb\tc\r\a\b\f\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\u0085\u200b\u00a0", r'"\u0085\u200b\u00a0"'),
        ("\U000e0001", r'"\U000e0001"'),
        (b"\xff".decode(errors="surrogateescape"), r'"\xff"'),
    ],
)
def test_a_quoted_text_has_the_escapes_of_go(text, found):
    assert quoted(text) == found


def test_an_error_of_grpc_has_the_name_of_its_code():
    assert rpc_error("NOT_FOUND", "no such") == "rpc error: code = NotFound desc = no such"


NOWHERE = "failed to connect to all addresses; last error: "
REFUSED = 'connection error: desc = "transport: Error while dialing: dial'


@pytest.mark.parametrize(
    ("details", "found"),
    [
        ("Deadline Exceeded", "context deadline exceeded"),
        ("Stream removed (Deadline Exceeded)", "context deadline exceeded"),
        ("Stream removed (Socket closed)", "error reading from server: EOF"),
        (
            "Stream removed (CLIENT: Received message larger than max (20971520 vs. 4194304))",
            "grpc: received message larger than max (20971520 vs. 4194304)",
        ),
        (
            f"{NOWHERE}FAILED_PRECONDITION: unix:/a.sock: connect failed: addr: unix:/a.sock error: No such file or "
            "directory",
            f'{REFUSED} unix /a.sock: connect: no such file or directory"',
        ),
        (
            f"{NOWHERE}UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused",
            f'{REFUSED} tcp 127.0.0.1:1: connect: connection refused"',
        ),
        ("no container (a)", "no container (a)"),
    ],
)
def test_what_the_client_of_grpc_says_itself_reads_as_in_go(details, found):
    assert client_details(details) == found
