"""The documents name no source file that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_PATH = re.compile(r"`((?:actors|supervision|proto|tests|etc)/[\w./-]*\w/?)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_path_of_a_document_is_there(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return  # it also names what is gone
    named = {path.rstrip(".") for path in _PATH.findall(document.read_text(encoding="utf-8"))}
    there = {path for path in named if any((ROOT / f"{path}{ending}").exists() for ending in ("", ".py"))}
    assert named - there == set()
