"""Each package that the project depends on does work in the product: it is imported there, not only named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import files, requires
from pathlib import Path

import pytest

from tests.support.source_files import parsed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IMPORTED_AS = {"pyyaml": "yaml", "grpcio": "grpc", "protobuf": "google"}
BACKENDS = {"h11": "httpcore", "anyio": "httpcore"}
"""Packages that another one imports by itself: they are named so that their versions are pinned."""
LOOKED_FOR = {"sniffio": "httpcore/_synchronization.py"}
"""Packages that another one imports if they are there, and where: without them it searches the disk each time."""
SOURCES = [path for top in ("supervision", "actors", "proto") for path in (ROOT / top).rglob("*.py")]


def names() -> list[str]:
    return [re.split(r"[=<>\[]", entry)[0].lower() for entry in PROJECT["project"]["dependencies"]]


def imported() -> set[str]:
    """The top of every module that the product imports."""
    found: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("name", sorted(set(names()) - BACKENDS.keys() - LOOKED_FOR.keys()))
def test_the_product_imports_it(name: str) -> None:
    assert IMPORTED_AS.get(name, name.replace("-", "_")) in imported()


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_is_named_because_another_package_wants_it(name: str) -> None:
    assert any(one.startswith(name) for one in requires(BACKENDS[name]) or [])


@pytest.mark.parametrize("name", LOOKED_FOR)
def test_a_package_is_named_because_another_one_looks_for_it(name: str) -> None:
    (where,) = (path for path in files(LOOKED_FOR[name].partition("/")[0]) or [] if str(path) == LOOKED_FOR[name])
    assert f"import {name}\n" in where.read_text()


def test_the_required_packages_are_dependencies() -> None:
    assert {"thespian", "grpcio", "protobuf", "kubernetes", "cryptography", "pyyaml", "psutil"} <= set(names())


def test_the_parser_of_all_commands_needs_no_more_than_the_wheel_is_built_with() -> None:
    """hatch_build.py runs it where nothing but these is installed."""
    (_, *needed) = PROJECT["build-system"]["requires"]
    project = PROJECT["project"]
    assert set(needed) <= {*project["dependencies"], *project["optional-dependencies"]["completion"]}, "other versions"
    code = (
        "import sys; from actors.agent.subcommands import whole_parser; whole_parser(('start',));"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    installed = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names()}
    assert installed & set(done.stdout.split()) == {"msgspec"}
