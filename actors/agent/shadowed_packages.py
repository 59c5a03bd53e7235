"""Detects packages of other projects that hide this project's packages, before any of these is imported.

PyPI has a `supervision` and a `proto-plus` (imported as `proto`) that have nothing to do with this agent. In the same
environment they hide this project's packages or overwrite their files, and then some inner import fails.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Final

PACKAGES: Final = ("supervision", "actors", "proto")
MARK: Final = '__project__ = "troupelet"'
"""A line of the `__init__.py` of each."""


def shadowed(
    find: Callable[[str], ModuleSpec | None] = PathFinder.find_spec, home: Path = Path(__file__).parents[2]
) -> str:
    """The problem with advice, or ''. `home`: the directory of this project's packages."""
    wrong = [text for name in PACKAGES if (text := _validate(name, find(name), home / name))]
    if not wrong:
        return ""
    return (
        "; ".join(wrong)
        + ". Other projects have packages of these names: install troupelet into a virtual environment "
        "of its own (python3 -m venv DIRECTORY), and do not set PYTHONPATH"
    )


def _validate(name: str, found: ModuleSpec | None, expected: Path) -> str:
    if found is None:
        return f"package {name} is missing: it should be {expected}"
    origin = Path(found.origin) if found.origin else None
    if origin is None or origin.parent.resolve() != expected.resolve():
        at = origin or ", ".join(found.submodule_search_locations or ())
        return f"package {name} is another project's: {at} comes before {expected}"
    if MARK not in _text(origin):
        return f"package {name} was overwritten by another project's: {origin}"
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
