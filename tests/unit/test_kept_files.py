"""The modules that keep private files."""

from __future__ import annotations

import ast

import pytest

from tests.support.kept_files import SOURCES, writing_modules

READS = frozenset({"read_bytes", "read_text"})
PROC = "/proc/"


def readings(module: str) -> list[str]:
    """Calls by which the module reads a file in another way than by `read_private`, those of /proc not counted."""
    found = []
    for node in ast.walk(ast.parse((SOURCES / module).read_text())):
        if isinstance(node, ast.Call) and PROC not in ast.unparse(node):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            reads = called == "open" and any(isinstance(one, ast.Constant) and one.value == "rb" for one in node.args)
            if called in READS or reads:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("module", sorted(writing_modules()))
def test_a_private_file_is_read_by_what_never_waits_for_a_fifo(module: str) -> None:
    assert readings(module) == []
