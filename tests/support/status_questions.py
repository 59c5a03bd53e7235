"""Questions to a status manager of a test whose workers have not listed their pods."""

from __future__ import annotations

from typing import Any

from actors.status_manager.reports.first_reports import WAIT_SECONDS
from supervision.message import Message
from supervision.testing.harness import Harness


async def ask_now(harness: Harness, question: Message) -> Any:
    """The answer. Moves the clock, if that is needed, until the status manager answers with what it knows."""
    waiting = harness.post(question)
    await harness.settle()
    if not waiting.done():
        await harness.advance(WAIT_SECONDS)
    return await waiting
