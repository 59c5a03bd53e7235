"""What `supervise events` prints."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from actors.agent.inspection import commands
from actors.api_clients.messages import RecentEvent, RecentEvents
from supervision.protocol import Tree


class Asked:
    """A command's context with one event at the agent."""

    arguments = Namespace(pod="", namespace="", output="text", watch=False, timeout=1.0)

    def tree(self) -> Tree:
        return Tree(pid=1, uptime=1.0, state="ready", actors=[])

    def __init__(self, message: str) -> None:
        self._event = RecentEvent(
            kind="Pod", namespace="shop", name="web", uid="u", field="", type="Warning", reason="Unhealthy",
            message=message, count=1, first=0.0, last=0.0,
        )  # fmt: skip

    def ask(self, *_: Any, **__: Any) -> RecentEvents:
        return RecentEvents(since=0.0, events=[self._event])


def test_what_a_probe_has_said_reaches_no_terminal_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.events(Asked("failed: \x1b]52;c;cm0K\x07")) == 0  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    assert "failed: ^[]52;c;cm0K^G" in shown
    assert "\x1b" not in shown
