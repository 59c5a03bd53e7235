"""Log lines as JSON or YAML, without the whole log in memory."""

from __future__ import annotations

import io

import pytest

from supervision.cli.document import FORMS, document_text
from supervision.cli.line_array import LineArray

LINES = ['one "word"', "", "zwei Wörter", "three"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("length", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("lines", [LINES, ["only"], []])
def test_a_log_read_in_pieces_is_the_array_of_its_lines(form: str, length: int, ended: bool, lines: list[str]) -> None:
    log = "\n".join(lines).encode() + (b"\n" if ended and lines else b"")
    out = io.StringIO()
    array = LineArray(out, form)
    for at in range(0, len(log), length):
        array.add_bytes(log[at : at + length])
    array.end()
    assert out.getvalue() == document_text(lines, form) + "\n"


def test_each_line_is_written_as_it_comes() -> None:
    out = io.StringIO()
    array = LineArray(out)
    assert not out.getvalue()
    array.add_bytes(b"one\ntw")
    assert out.getvalue() == '[\n  "one"'
