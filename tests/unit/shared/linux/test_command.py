"""Short commands of the host."""

from __future__ import annotations

import pytest

from actors.shared.linux import command
from actors.shared.linux.command import run


async def test_a_failed_command_gives_its_output_and_a_missing_one_its_name() -> None:
    assert await run(["/bin/sh", "-c", "echo broken >&2; exit 1"]) == "broken"
    assert await run(["/bin/sh", "-c", "exit 3"]) == "failed"
    assert await run(["/bin/true"]) == ""
    assert "/no/such" in await run(["/no/such"])


async def test_input_is_passed_and_may_stay_unread() -> None:
    assert await run(["/bin/sh", "-c", "cat >&2; exit 1"], b"given") == "given"
    assert await run(["/bin/true"], b"x" * 100_000) == ""


async def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "SECONDS", 0.2)
    assert await run(["/bin/sleep", "60"]) == "/bin/sleep did not end within 0.2 s"
