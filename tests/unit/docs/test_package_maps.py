"""A package's docstring is a map: it names every module, so that a newcomer finds where something is decided."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FEW = 5
"""So many modules are found without a map."""
OF_EACH_ACTOR = {"messages", "declaration", "actor"}
"""docs/architecture.md says what these are."""
ONE_EACH = {"actors", "actors/http_servers/endpoints", "actors/shared/admission/checks", "actors/volume_manager/types"}
"""Packages whose modules are of one kind, and named by what they are."""


def modules(package: Path) -> set[str]:
    found = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    return found - {"__init__"} - OF_EACH_ACTOR


PACKAGES = [
    path.parent
    for root in ("actors", "supervision")
    for path in sorted((ROOT / root).rglob("__init__.py"))
    if len(modules(path.parent)) > FEW and str(path.parent.relative_to(ROOT)) not in ONE_EACH
]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_docstring_of_a_package_names_each_of_its_modules(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert sorted(name for name in modules(package) if not re.search(rf"\b{name}\b", text)) == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_line_of_the_map_is_of_a_module_that_is_there(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = set(re.findall(r"^(\w+)(?:\.py|/) ", text, re.MULTILINE))
    assert sorted(named - modules(package) - OF_EACH_ACTOR) == []
