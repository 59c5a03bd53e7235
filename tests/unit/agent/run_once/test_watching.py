"""How long `supervise run-once` watches the pods."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import cast

import pytest

from actors.agent import run_once
from actors.agent.run_once import RunPodResult
from actors.shared.config.agent import Agent

STARTED, WAITING = RunPodResult("n/p", "started"), RunPodResult("n/p", "waiting")
Look = tuple[list[RunPodResult], bool] | None


def watch(monkeypatch: pytest.MonkeyPatch, looks: list[Look], ends_after: int = 100) -> tuple[list[RunPodResult], bool]:
    """With these looks in turn; `ends_after`: the number of polls after which the agent has ended."""
    polls = iter(range(1000))
    process = SimpleNamespace(poll=lambda: 0 if next(polls) >= ends_after else None)
    left = iter(looks)
    monkeypatch.setattr(run_once, "_find_outcomes", lambda agent: next(left))
    monkeypatch.setattr(run_once, "POLL_SECONDS", 0.0)
    return run_once._watch(Agent(), cast("subprocess.Popen[bytes]", process), 60.0)


def test_run_once_ends_when_all_pods_are_listed_and_none_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Look] = [None, ([STARTED], False), ([WAITING], True), ([STARTED], True)]
    assert watch(monkeypatch, looks) == ([STARTED], False)


def test_an_agent_that_ends_ends_it_with_the_last_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch(monkeypatch, [([WAITING], True)] * 3, ends_after=2) == ([WAITING], True)
