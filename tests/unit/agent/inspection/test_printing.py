"""How commands follow what changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from actors.agent.inspection import printing
from actors.agent.inspection.printing import watch
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, CommandError


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "WATCH_SECONDS", 0.0)


def showing(*answers: int | CommandError) -> Callable[[], int]:
    """Each answer once; then as Ctrl-C."""
    coming = iter(answers)

    def show() -> int:
        answer = next(coming, None)
        if answer is None:
            raise KeyboardInterrupt
        if isinstance(answer, CommandError):
            raise answer
        return answer

    return show


def said(capsys: pytest.CaptureFixture[str], *answers: int | CommandError) -> list[str]:
    with pytest.raises(KeyboardInterrupt):
        watch(showing(*answers))
    return capsys.readouterr().err.splitlines()


def test_an_agent_that_is_not_there_is_waited_for_from_the_first_look_on(capsys: pytest.CaptureFixture[str]) -> None:
    gone = CommandError(NOT_RUNNING, "no agent is running")
    assert said(capsys, gone, gone, OK, OK) == [
        "supervise: no agent is running; waiting for it",
        "supervise: it answers again",
    ]


def test_an_agent_that_restarts_is_reported_once_and_again_when_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    stopping, gone = CommandError(NO_ANSWER, "pleg is down"), CommandError(NOT_RUNNING, "no agent is running")
    starting = CommandError(NO_ANSWER, "it is starting")
    assert said(capsys, OK, stopping, gone, starting, OK, gone) == [
        "supervise: pleg is down; waiting for it",
        "supervise: it answers again",
        "supervise: no agent is running; waiting for it",
    ]


def test_what_was_shown_without_an_agent_is_followed_by_that_it_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(capsys, NOT_RUNNING, CommandError(NOT_RUNNING, "no agent is running")) == [
        "supervise: no answer; waiting for it"
    ]


def test_a_wrong_name_ends_it() -> None:
    with pytest.raises(CommandError, match="no such pod"):
        watch(showing(OK, CommandError(REFUSED, "no such pod")))
