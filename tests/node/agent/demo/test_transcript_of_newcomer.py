"""docs/transcript.md: what somebody sees in the first ten minutes is what is written there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.host import look
from tests.support.newcomer import newcomer
from tests.support.transcript import missing, steps

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
DOCUMENT = Path(__file__).parents[4] / "docs" / "transcript.md"


def test_the_first_ten_minutes_match_the_transcript(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: real containers need root")
    try:
        look(str(tmp_path))
    except MissingPrograms as error:
        pytest.skip(f"NOT TESTED: {error}")
    shown, answered = steps(DOCUMENT.read_text(), "The first ten minutes"), newcomer(tmp_path)
    assert [step.command for step in shown] == [step.command for step in answered]
    wrong = {a.command: line for a, b in zip(shown, answered, strict=True) if (line := missing(a.answer, b.answer))}
    assert wrong == {}
    assert not (tmp_path / "demo").exists()
