"""A foreign package in the place of ours is noticed, and the text says what to do."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from actors.agent.shadowed_packages import MARK, PACKAGES, shadowed

ROOT = Path(__file__).parents[4]


def package(directory: Path, name: str, text: str) -> Path:
    at = directory / name
    at.mkdir(parents=True)
    (at / "__init__.py").write_text(text)
    return at


def make_all(directory: Path) -> Path:
    for name in PACKAGES:
        package(directory, name, f'"""Ours."""\n\n{MARK}\n')
    return directory


def problem_of(home: Path, *path: Path) -> str:
    return shadowed(lambda name: PathFinder.find_spec(name, [str(one) for one in (*path, home)]), str(home))


def test_our_own_packages_are_in_order(tmp_path):
    assert shadowed() == ""
    assert problem_of(make_all(tmp_path)) == ""


@pytest.mark.parametrize("name", PACKAGES)
def test_a_shadowing_package_is_reported_with_its_path_and_a_remedy(tmp_path, name):
    home, other = make_all(tmp_path / "ours"), tmp_path / "other"
    foreign = package(other, name, "")
    text = problem_of(home, other)
    assert f"package {name} is another project's: {foreign}/__init__.py comes before {home}/{name}" in text
    assert "virtual environment" in text


def test_an_overwritten_package_is_noticed(tmp_path):
    home = make_all(tmp_path)
    (home / "supervision" / "__init__.py").write_text("__version__ = '0.27.0'\n")
    assert "package supervision was overwritten" in problem_of(home)


def test_a_directory_without_init_or_nothing_at_all_is_noticed(tmp_path):
    home = make_all(tmp_path / "ours")
    (home / "proto" / "__init__.py").unlink()
    assert "package proto is another project's" in problem_of(home)
    (home / "proto").rmdir()
    assert "package proto is missing" in problem_of(home)


def test_the_check_loads_none_of_our_packages():
    code = (
        "import sys, actors.agent.shadowed_packages as s; assert not s.shadowed(); "
        "print({'supervision', 'proto'} & set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert shown.stdout.strip() == "set()"
