"""The sources, read as Python reads them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


def parsed(path: Path) -> ast.Module:
    return tree_of(path.read_text(encoding="utf-8"))


@cache
def tree_of(source: str) -> ast.Module:
    """CPython 3.11 fails to parse when the garbage collector runs amid it a finaliser that fails (gh-106905); what
    other tests left may be such garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collects:
            gc.enable()
