"""docs/transcript.md: each of the eight broken nodes is found by the command there, which answers as it is written."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.broken_stories import STORIES, Story, told
from tests.support.transcript import missing, steps

pytestmark = pytest.mark.tree
DOCUMENT = Path(__file__).parents[2] / "docs" / "transcript.md"


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.title)
def test_a_broken_node_is_diagnosed_as_in_the_transcript(story: Story, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: file systems are mounted by root")
    (shown,) = steps(DOCUMENT.read_text(), story.title)
    answered = asyncio.run(told(story, tmp_path))
    assert shown.command == answered.command
    assert len(shown.answer) >= 2, "a cause and what mends it"
    assert missing(shown.answer, answered.answer) == "", "\n".join(answered.answer)


def test_the_transcript_has_every_story() -> None:
    section = DOCUMENT.read_text().partition("\n## Eight broken nodes\n")[2]
    titles = [line.removeprefix("### ") for line in section.splitlines() if line.startswith("### ")]
    assert titles == [story.title for story in STORIES]
    assert len(titles) == 8
