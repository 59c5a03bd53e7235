"""Texts that name modules: the check on made-up modules, and all of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.named_modules import unknown_names

ROOT = Path(__file__).parents[3]
OURS = ("actors", "proto", "supervision", "tests")
MADE_UP = {"tests/unit/docs/test_named_modules.py", "tests/unit/docs/test_shape_check.py"}
"""They name modules that are not there, to see them found."""
MODULES = {"a/__init__.py": "", "a/b.py": "class C: ...\ndef run(): ...\nif C:\n    D = 1\n"}


def unknown(text: str) -> list[str]:
    return [name for path, _, name in unknown_names({**MODULES, "a/x.py": text}, ["a"]) if path == "a/x.py"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("T = 'a.b:run'", []),
        ("T = 'a.b:walk'", ["a.b.walk"]),
        ("T = 'a.c:run'", ["a.c", "a.c.run"]),
        ("run('from a.b import C, D')", []),
        ("run('from a.b import C, E as F')", ["a.b.E"]),
        ("run('from a import b, x')", []),
        ("run('import os; import a.c')", ["a.c"]),
        ("run(f'''\nfrom a.b import {name}\nfrom a.c import D''')", ["a.c", "a.c.D"]),
        ("run([python, '-m', 'a.b', '-c'])", []),
        ("run([python, '-m', 'a.c'])", ["a.c"]),
        ("run(python, '-m', 'a.c')", ["a.c"]),
        ("run('from other.place import C', 'other.place:run', '-m', 'other')", []),
        ("from a.c import D", []),
    ],
)
def test_a_text_that_names_a_module_or_a_member_that_is_not_there_is_found(text: str, names: list[str]):
    assert unknown(text) == names


@pytest.mark.slow
def test_each_module_and_member_that_a_text_of_ours_names_is_there():
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for package in OURS
        for path in (ROOT / package).rglob("*.py")
        if not path.stem.endswith("_pb2")
    }
    found = [each for each in unknown_names(sources, OURS) if each[0] not in MADE_UP]
    assert found == []
