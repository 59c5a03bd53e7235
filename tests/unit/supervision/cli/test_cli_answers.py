"""What a command shows when some of the actors that it asks are wedged."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from supervision import time_scale
from supervision.cli.agent_files import AgentFiles
from supervision.cli.answers import PATIENCE_SECONDS, Answers
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, CommandError, Context
from supervision.protocol import ActorState, Done, GetTree, SetLogLevel, Tree


class _SilentContext(Context):
    """Nobody answers."""

    def __init__(self, timeout: float = 5.0, code: int = NO_ANSWER) -> None:
        super().__init__(argparse.Namespace(output="text", timeout=timeout), lambda _: AgentFiles(Path(), Path()))
        self.calls: list[tuple[str, float]] = []
        self._code = code

    def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
        self.calls.append((name, timeout))
        raise CommandError(self._code, f"{name} did not answer")


def tree(**actor: Any) -> Tree:
    state = {"state": "running", "pid": os.getpid(), **actor}
    return Tree(pid=1, uptime=9.0, state="ready", actors=[ActorState(name="a", parent="root", kind="actor", **state)])


def test_a_question_to_an_actor_not_yet_seen_wedged_ends_after_a_few_seconds() -> None:
    context = _SilentContext()
    answers = Answers(context, tree())
    assert answers.get("a", SetLogLevel(1), Done, "its level is not shown") is None
    assert context.calls == [("a", PATIENCE_SECONDS)]
    assert answers.problems == ["its level is not shown: a did not answer"]
    Answers(context, tree()).get("b", SetLogLevel(1), Done)
    Answers(less := _SilentContext(timeout=0.2), tree()).get("a", SetLogLevel(1), Done)
    assert less.calls == [("a", 0.2)]


def test_a_slow_machine_has_more_time() -> None:
    time_scale.use(3.0)
    try:
        Answers(context := _SilentContext(timeout=60.0), tree()).get("a", SetLogLevel(1), Done)
    finally:
        time_scale.use(1.0)
    assert context.calls == [("a", 3 * PATIENCE_SECONDS)]


@pytest.mark.parametrize(
    ("actor", "why"),
    [
        ({"state": "down", "pid": 0}, "a is down"),
        ({"heartbeat_age": 8.0}, "a hangs, for 8.0s"),
    ],
)
def test_an_actor_that_is_wedged_in_the_tree_gets_no_question(actor: dict[str, Any], why: str) -> None:
    answers = Answers(context := _SilentContext(), tree(**actor))
    assert answers.get("a", SetLogLevel(1), Done, "x") is None
    assert (context.calls, answers.passed_over, answers.unanswered) == ([], [f"x: {why}"], [])


def test_without_a_running_agent_it_is_an_error() -> None:
    with pytest.raises(CommandError):
        Answers(_SilentContext(code=NOT_RUNNING), tree()).get("a", SetLogLevel(1), Done)


def test_only_a_command_that_shows_memory_has_it_read_by_the_fork_server() -> None:
    """It takes the fork server a millisecond for each actor, in which it supervises nobody."""
    asked = list[GetTree]()

    class Answering(Context):
        def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
            asked.append(question)
            return tree()

    context = Answering(argparse.Namespace(output="text", timeout=5.0), lambda _: AgentFiles(Path(), Path()))
    context.tree()
    context.tree(memory=True)
    assert asked == [GetTree(memory=False), GetTree(memory=True)]
