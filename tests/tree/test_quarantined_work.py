"""Work that ends its actor again and again is known to the quarantine, though no message is handled."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from supervision.errors import AskError
from supervision.quarantine import QuarantinePolicy
from tests.support.sample_tree import Begun, Toil
from tests.support.supervised_agent import Agent, agent

pytestmark = pytest.mark.tree


@pytest.mark.parametrize(("how", "cause"), [("hang", "hang"), ("die", "signal")])
def test_work_that_hangs_or_kills_its_actor_is_quarantined_and_other_work_continues(
    tmp_path: Path, how: Literal["hang", "die"], cause: str
) -> None:
    with agent(tmp_path, {"a": {"heartbeat_seconds": 2, "busy_seconds": 0.5, "max_restarts": 20}}) as found:
        for incarnation in range(1, QuarantinePolicy().crashes + 1):
            found.fork_server.wait_running("a", incarnation=incarnation)
            assert found.fork_server.ask(Toil("bad", how), Begun, "a") == Begun(True)
        found.fork_server.wait_running("a", incarnation=QuarantinePolicy().crashes + 1)
        assert found.fork_server.ask(Toil("bad", how), Begun, "a") == Begun(False)
        assert found.fork_server.ask(Toil("good", "do"), Begun, "a") == Begun(True)
        found.fork_server.wait(lambda: ("did-good", "a") in found.notes(), "other work is done")
        assert found.causes() == [("a", cause)] * QuarantinePolicy().crashes
        assert {incident.message for incident in found.incidents()} == {"toil"}


@pytest.mark.parametrize(("how", "blamed"), [("grow", True), ("leak", False)])
def test_a_ceiling_of_memory_is_blamed_on_the_work_that_grew_the_process_and_on_no_other(
    tmp_path: Path, how: Literal["grow", "leak"], blamed: bool
) -> None:
    policy = {"memory_mib": 120, "heartbeat_seconds": 600, "busy_seconds": 600, "max_restarts": 20}
    with agent(tmp_path, {"a": policy}) as found:
        for incarnation in range(1, QuarantinePolicy().crashes + 1):
            found.fork_server.wait_running("a", incarnation=incarnation)
            with suppress(AskError):  # it may be found above its ceiling before it answers
                assert found.fork_server.ask(Toil("only", how), Begun, "a") == Begun(True)
        found.fork_server.wait_running("a", incarnation=QuarantinePolicy().crashes + 1)
        assert found.fork_server.ask(Toil("only", "do"), Begun, "a") == Begun(not blamed)
        assert found.causes() == [("a", "memory")] * QuarantinePolicy().crashes


def test_several_inputs_that_kill_their_actor_do_not_add_up_to_the_limit_of_its_restarts(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": {"max_restarts": 4, "period_seconds": 600}}) as found:
        deaths = 0
        for key in ("bad", "worse", "worst"):
            for _ in range(QuarantinePolicy().crashes):
                found.fork_server.wait_running("a", incarnation=deaths + 1)
                assert found.fork_server.ask(Toil(key, "die"), Begun, "a") == Begun(True)
                deaths += 1
        found.fork_server.wait_running("a", incarnation=deaths + 1)
        assert found.causes() == [("a", "signal")] * deaths, "nobody else was restarted"


def hangs(found: Agent, times: int, name: str) -> bool:
    """Whether the work hangs, for the `times`-th time."""
    return found.recorded(name) == "good" and found.notes().count(("hang-good", name)) == times


@pytest.mark.parametrize(("number", "cause"), [(signal.SIGKILL, "signal"), (signal.SIGSTOP, "hang")])
def test_work_is_not_blamed_for_signals_that_others_send(tmp_path: Path, number: signal.Signals, cause: str) -> None:
    with agent(tmp_path, {"a": {"heartbeat_seconds": 2, "busy_seconds": 600, "max_restarts": 20}}) as found:
        for incarnation in range(1, QuarantinePolicy().crashes + 1):
            found.fork_server.wait_running("a", incarnation=incarnation)
            assert found.fork_server.ask(Toil("good", "hang"), Begun, "a") == Begun(True)
            found.fork_server.wait(partial(hangs, found, incarnation, "a"), "the work hangs")
            found.fork_server.kill("a", number)
        found.fork_server.wait_running("a", incarnation=QuarantinePolicy().crashes + 1)
        assert found.fork_server.ask(Toil("good", "do"), Begun, "a") == Begun(True)
        assert found.causes() == [("a", cause)] * QuarantinePolicy().crashes


def test_work_is_not_blamed_for_the_end_of_its_supervisor(tmp_path: Path) -> None:
    with agent(
        tmp_path, {"group/x": {"heartbeat_seconds": 600, "busy_seconds": 600}, "group": {"max_restarts": 20}}
    ) as found:
        for incarnation in range(1, QuarantinePolicy().crashes + 1):
            found.fork_server.wait_running("group", "group/x", incarnation=incarnation)
            assert found.fork_server.ask(Toil("good", "hang"), Begun, "group/x") == Begun(True)
            found.fork_server.wait(partial(hangs, found, incarnation, "group/x"), "the work hangs")
            found.fork_server.kill("group")
        found.fork_server.wait_running("group/x", incarnation=QuarantinePolicy().crashes + 1)
        assert found.fork_server.ask(Toil("good", "do"), Begun, "group/x") == Begun(True)


def test_work_is_not_blamed_for_the_end_of_the_whole_agent(tmp_path: Path) -> None:
    policy = {"a": {"heartbeat_seconds": 600, "busy_seconds": 600}}
    for times in range(1, QuarantinePolicy().crashes + 1):
        with agent(tmp_path, policy) as found:
            assert found.fork_server.ask(Toil("good", "hang"), Begun, "a") == Begun(True)
            found.fork_server.wait(partial(hangs, found, times, "a"), "the work hangs")
            found.fork_server.process.kill()
            found.fork_server.wait_end()
            found.fork_server.wait(lambda: not (tmp_path / "run" / "names").exists(), "nothing is left of it")
    with agent(tmp_path, policy) as found:
        assert found.fork_server.ask(Toil("good", "do"), Begun, "a") == Begun(True)
