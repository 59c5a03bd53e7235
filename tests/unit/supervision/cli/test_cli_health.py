"""What `supervise status` makes of the facts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import NO_ANSWER, CommandError, Context
from supervision.cli.health import Reason, TreeHealth, decide, symptom
from supervision.cli.signals import stopped_by_signal
from supervision.cli.status import run, text
from supervision.protocol import ActorState, LastingFault, Tree, Trouble


def actor(name: str, **changes: object) -> ActorState:
    fields: dict[str, object] = {"parent": "root", "kind": "actor", "state": "running", "pid": 7}
    return ActorState(name=name, **(fields | changes))  # type: ignore[arg-type]


def tree(*actors: ActorState, **changes: object) -> Tree:
    fields: dict[str, object] = {"pid": 1, "uptime": 60.0, "state": "ready"}
    return Tree(actors=list(actors), **(fields | changes))  # type: ignore[arg-type]


def said(health: TreeHealth) -> tuple[str, list[str]]:
    return health.state, [str(reason) for reason in health.reasons]


def test_an_agent_whose_actors_are_all_in_service_is_ready() -> None:
    assert decide(tree(actor("pleg", heartbeat_age=2.0))) == TreeHealth("ready", [])


def test_an_actor_that_was_replaced_is_no_reason() -> None:
    assert decide(tree(actor("pleg", last_incident="signal 3s ago", incident_age=3.0, restarts=1))).state == "ready"


def test_a_supervisor_that_was_made_to_exit_did_not_give_up() -> None:
    ended = actor("pod_workers", kind="supervisor", last_incident="exit 3s ago", incident_age=3.0, restarts=1)
    assert decide(tree(ended)).state == "ready"


def test_an_actor_that_ended_in_order_and_is_not_to_be_started_again_is_no_reason() -> None:
    assert decide(tree(actor("pleg", state="down", pid=0, is_over=True, ended_orderly=True))).state == "ready"


CASES = [
    (actor("pleg", state="down", pid=0, last_incident="hang 3s ago"), "down, last incident: hang 3s ago; its superv"),
    (actor("pleg", state="down", pid=0), "down; it was not started yet"),
    (actor("pleg", state="starting", uptime=4.0), "starting for 4.0s"),
    (actor("pleg", heartbeat_age=9.0), "hangs: no heartbeat for 9.0s; its supervisor replaces it"),
    (actor("pleg", pid=42), "stopped by a signal"),
    (
        actor("pleg", kind="supervisor", last_incident="signal 3s ago", gave_up=1, gave_up_age=30.0),
        "gave up 30s ago, and was started again with all below it",
    ),
    (actor("pleg", state="stopping", uptime=900.0, stopping_seconds=2.0), "stopping for 2.0s"),
    (
        actor("pleg", injected=[LastingFault("drop")]),
        "drop was injected, and lasts",
    ),
    (
        actor("pleg", injected=[LastingFault("slow", 20.0)]),
        "slow was injected, and lasts 20s more",
    ),
    (
        actor("pleg", state="down", pid=0, last_incident="signal 3s ago", is_over=True),
        "down, last incident: signal 3s ago; its restart type is temporary, so it is not started again",
    ),
]


@pytest.mark.parametrize(("ill", "why"), CASES)
def test_one_unhealthy_actor_degrades_the_agent(ill: ActorState, why: str) -> None:
    state, reasons = said(decide(tree(actor("prober"), ill), stopped={42}))
    assert (state, len(reasons)) == ("degraded", 1)
    assert reasons[0].startswith(f"pleg: {why}")
    assert decide(tree(ill), stopped={42}).reasons[0].remedy


def test_a_reason_has_its_remedy_in_a_field_of_its_own() -> None:
    actors = [actor("pleg", pid=42), actor("prober", injected=[LastingFault("slow", 20.0)])]
    taken = Trouble("port", "cannot listen", 2.0, "node_server", "ss -ltnp")
    found = decide(tree(*actors, troubles=[taken]), stopped={42}).reasons
    assert [one.remedy for one in found] == [
        "kill -CONT 42, or wait: its supervisor replaces it", "supervise inject prober crash", "ss -ltnp",
    ]  # fmt: skip
    shown = text(TreeHealth("degraded", found), tree()).splitlines()
    assert "  port: cannot listen, for 2.0s" in shown
    assert shown[shown.index("  port: cannot listen, for 2.0s") + 1] == "      -> ss -ltnp"


def test_a_remedy_that_several_reasons_in_a_row_share_is_shown_once() -> None:
    reasons = [Reason("manifest", "a", remedy="mend it"), Reason("manifest", "b", remedy="mend it"), Reason("c", "d")]
    shown = text(TreeHealth("degraded", reasons), tree()).splitlines()[1:]
    assert shown == ["  manifest: a", "  manifest: b", "      -> mend it", "  c: d"]


def test_without_the_root_supervisor_it_is_down() -> None:
    assert decide(tree(actor("root", pid=42)), stopped={42}).state == "down"
    assert decide(tree(actor("root", heartbeat_age=9.0))).state == "down"


def test_the_tree_shows_which_actor_has_an_injected_fault() -> None:
    assert symptom(actor("pleg", injected=[LastingFault("slow"), LastingFault("drop")])) == "slow, drop injected"
    assert symptom(actor("pleg", injected=[LastingFault("hang")], heartbeat_age=9.0)) == "silent 9.0s"


def test_a_slow_root_supervisor_is_not_down() -> None:
    assert decide(tree(actor("root", injected=[LastingFault("slow")]))).state == "degraded"


def test_a_program_has_no_heartbeat() -> None:
    assert decide(tree(actor("containerd", kind="program", heartbeat_age=1e6))).state == "ready"


@pytest.mark.parametrize("state", ["starting", "stopping"])
def test_a_starting_or_stopping_agent_is_degraded(state: str) -> None:
    assert said(decide(tree(actor("pleg"), state=state))) == ("degraded", [f"agent: it is {state}"])


def test_a_degraded_tree_is_never_ready() -> None:
    assert said(decide(tree(actor("pleg"), state="degraded")))[0] == "degraded"


def test_waiting_actors_and_reasons_of_the_application_degrade_the_status() -> None:
    troubles = [Trouble("port", "Address already in use", 70.0, "node_server")]
    found = decide(tree(troubles=troubles), (), [Reason("manifest", "a.yaml: wrong")])
    assert said(found) == ("degraded", ["port: Address already in use, for 1m10s", "manifest: a.yaml: wrong"])
    assert found.reasons[0].remedy == "supervise logs node_server", "of a reporter that knows no better"
    assert decide(tree(), (), [Reason("certificate", "expired", down=True)]).state == "down"


def test_processes_that_do_not_end_are_reported() -> None:
    (reason,) = decide(tree(abandoned=2)).reasons
    assert "2 processes do not end on SIGKILL" in reason.text
    assert reason.remedy.startswith("ps -eo "), "it shows what they wait for"


def test_an_actor_without_a_process_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervision.cli.signals.is_stopped", lambda pid: pid in (0, 2))
    assert stopped_by_signal([actor(str(pid), pid=pid) for pid in (0, 1, 2)]) == {2}


class _TreeContext(Context):
    def __init__(self, answer: Tree | CommandError, output: str) -> None:
        arguments = argparse.Namespace(root_dir="/r", run_dir="", output=output, timeout=1.0)
        super().__init__(arguments, lambda _: AgentFiles(Path("/none"), Path("/none/incidents")))
        self._answer = answer

    def tree(self, *, memory: bool = False) -> Tree:
        if isinstance(self._answer, CommandError):
            raise self._answer
        return self._answer


WRONG = Reason("manifest", "a.yaml: wrong")
DOWN = Reason("container runtime", "gone", down=True)


@pytest.mark.parametrize(
    ("others", "state", "code"), [([], "ready", 0), ([WRONG], "degraded", 1), ([WRONG, DOWN], "down", 3)]
)
def test_headline_json_and_exit_code_agree(
    others: list[Reason], state: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_TreeContext(tree(actor("pleg")), "text"), lambda context, tree: others) == code
    headline, *lines = capsys.readouterr().out.splitlines()
    assert headline.startswith(f"{state}: 1 of 1 actors in service")
    assert lines == [f"  {reason}" for reason in others]
    assert run(_TreeContext(tree(actor("pleg")), "json"), lambda context, tree: others) == code
    shown = json.loads(capsys.readouterr().out)
    assert shown["state"] == state
    assert [(one["subject"], one["text"]) for one in shown["reasons"]] == [(one.subject, one.text) for one in others]


def test_an_agent_that_does_not_answer_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_TreeContext(CommandError(NO_ANSWER, "the fork server does not answer"), "text")) == NO_ANSWER
    assert capsys.readouterr().out == "down: the fork server does not answer\n"
