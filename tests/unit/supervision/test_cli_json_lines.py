"""Log lines as JSON, without the whole log in memory."""

from __future__ import annotations

import io

import pytest

from supervision.cli.command import json_text
from supervision.cli.json_lines import JsonLines

LINES = ['one "word"', "", "zwei Wörter", "three"]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("lines", [LINES, ["only"], []])
def test_a_log_read_in_pieces_is_the_array_of_its_lines(length: int, ended: bool, lines: list[str]) -> None:
    log = "\n".join(lines).encode() + (b"\n" if ended and lines else b"")
    out = io.StringIO()
    array = JsonLines(out)
    for at in range(0, len(log), length):
        array.add_bytes(log[at : at + length])
    array.end()
    assert out.getvalue() == json_text(lines) + "\n"


def test_each_line_is_written_as_it_comes() -> None:
    out = io.StringIO()
    array = JsonLines(out)
    assert not out.getvalue()
    array.add_bytes(b"one\ntw")
    assert out.getvalue() == '[\n  "one"'
