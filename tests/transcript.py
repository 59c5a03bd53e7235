"""python -m tests.transcript: rewrites the answers in docs/transcript.md by the program as it is (as root).

`make transcript` runs it. The words around the boxes are kept.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from tests.support.broken_stories import STORIES, told
from tests.support.newcomer import newcomer
from tests.support.transcript import BOX, Step, box

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "transcript.md"


def with_steps(document: str, title: str, steps: list[Step]) -> str:
    """The document with these answers below the heading. A step keeps its place: the n-th box."""
    before, heading, rest = document.partition(f" {title}\n")
    boxes = iter([box(step) for step in steps])
    section, mark, after = rest.partition("\n## " if title == "The first ten minutes" else "\n### ")
    section = BOX.sub(lambda _: next(boxes), section)
    return before + heading + section + mark + after


async def main() -> None:
    document = DOCUMENT.read_text()
    for story in STORIES:
        with tempfile.TemporaryDirectory(prefix="transcript-") as directory:
            document = with_steps(document, story.title, [await told(story, Path(directory))])
    with tempfile.TemporaryDirectory(prefix="transcript-") as directory:
        document = with_steps(document, "The first ten minutes", newcomer(Path(directory)))
    DOCUMENT.write_text(document)


if __name__ == "__main__":
    asyncio.run(main())
