"""Texts as Go prints them."""

from __future__ import annotations

import pytest

from actors.shared.kube.go_text import quoted, rpc_error


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
