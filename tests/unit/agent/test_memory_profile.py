"""The recorded profile fits the code well enough to be worth its place."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from actors.agent import memory_profile

OURS = ("actors.", "supervision.")
STALE = "record it again: make memory-profile"
UNTIL_INTERNED = """
import sys
before = set(sys.modules)
from actors.agent import command, memory_profile, shadowed_packages
from supervision.fork_server import fork_hooks, name_layout
assert not shadowed_packages.shadowed() and memory_profile.names()
print(*sorted(set(sys.modules) - before))
"""


def functions_of(module: str) -> set[str]:
    """Qualified names of all functions in a module, inner ones included."""
    try:
        file = importlib.import_module(module).__file__
    except ImportError:
        return set()
    assert file is not None
    pending, found = [compile(Path(file).read_text(), file, "exec")], set()
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, CodeType):
                found.add(constant.co_qualname)
                pending.append(constant)
    return found


def test_nearly_every_function_of_ours_in_the_profile_is_there() -> None:
    ours = [line.split(" ") for line in memory_profile.functions() if line.startswith(OURS)]
    known = {module: functions_of(module) for module, _ in ours}
    there = [name in known[module] for module, name in ours]
    assert len(ours) > 200
    assert sum(there) > 0.8 * len(there), STALE


def test_the_names_in_the_profile_are_those_of_its_functions() -> None:
    names = memory_profile.names()
    assert len(names) == len(set(names)) > 1000
    modules = {line.split(" ")[0] for line in memory_profile.functions() if line.startswith(OURS)}
    used: set[str] = set()
    for module in modules:
        for value in vars(importlib.import_module(module)).values():
            for function in (value, *vars(value).values()) if isinstance(value, type) else (value,):
                if isinstance(function, FunctionType):
                    used.update(function.__code__.co_names)
    assert len(used & set(names)) > 0.1 * len(names), STALE


def test_without_its_files_the_profile_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_profile, "__file__", str(tmp_path / "__init__.py"))
    assert memory_profile.names() == memory_profile.functions() == ()
    Path(tmp_path, "names.txt").write_bytes(b"\xff\xfe")
    assert memory_profile.names() == ()


def test_little_is_imported_before_the_names_are_interned() -> None:
    command = [sys.executable, "-I", "-c", UNTIL_INTERNED]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.split()
    foreign = {name for name in shown if not name.startswith(("actors", "supervision", "importlib"))}
    assert "supervision.fork_server.name_layout" in shown
    assert foreign <= {"__future__", "warnings"}
