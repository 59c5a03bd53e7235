"""What a JUnit report of pytest says: how many tests there were, and which of them failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple


class Counts(NamedTuple):
    tests: int = 0
    bad: int = 0
    skipped: int = 0


def counts(report: Path) -> Counts:
    """Nothing when it was not written."""
    found = Counts()
    for suite in _elements(report, "testsuite"):
        tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        found = Counts(found.tests + tests, found.bad + bad, found.skipped + skipped)
    return found


def failed(report: Path, root: Path) -> list[str]:
    """Node ids of the tests of `root` that failed, each once. Of a file that cannot be imported, the module's name."""
    ids = {
        _node_id(case.get("classname", "").split("."), case.get("name", ""), root): None
        for case in _elements(report, "testcase")
        if case.find("failure") is not None or case.find("error") is not None
    }
    return list(ids)


def _node_id(parts: list[str], name: str, root: Path) -> str:
    for number in range(len(parts), 0, -1):
        file = f"{'/'.join(parts[:number])}.py"
        if root.joinpath(file).is_file():
            return "::".join([file, *parts[number:], name])
    return name


def _elements(report: Path, kind: str) -> list[ET.Element]:
    try:
        return list(ET.parse(report).getroot().iter(kind))
    except (OSError, ET.ParseError):
        return []
