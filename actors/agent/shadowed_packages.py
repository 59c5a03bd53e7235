"""Detects packages of other projects that hide this project's packages, before any of these is imported. It imports
little itself: see command.py.

PyPI has a `supervision` and a `proto-plus` (imported as `proto`) that have nothing to do with this agent. In the same
environment they hide this project's packages or overwrite their files, and then some inner import fails.
"""

from __future__ import annotations

import os
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

PACKAGES = ("supervision", "actors", "proto")
MARK = '__project__ = "troupelet"'
"""A line of the `__init__.py` of each."""


def shadowed(
    find: Callable[[str], ModuleSpec | None] = PathFinder.find_spec, home: str = os.path.abspath(f"{__file__}/../../..")
) -> str:
    """The problem with advice, or ''. `home`: the directory of this project's packages."""
    wrong = [text for name in PACKAGES if (text := _validate(name, find(name), f"{home}/{name}"))]
    if not wrong:
        return ""
    return (
        "; ".join(wrong)
        + ". Other projects have packages of these names: install troupelet into a virtual environment "
        "of its own (python3 -m venv DIRECTORY), and do not set PYTHONPATH"
    )


def _validate(name: str, found: ModuleSpec | None, expected: str) -> str:
    if found is None:
        return f"package {name} is missing: it should be {expected}"
    if found.origin is None or not _same(os.path.dirname(found.origin), expected):
        at = found.origin or ", ".join(found.submodule_search_locations or ())
        return f"package {name} is another project's: {at} comes before {expected}"
    if MARK not in _text(found.origin):
        return f"package {name} was overwritten by another project's: {found.origin}"
    return ""


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
