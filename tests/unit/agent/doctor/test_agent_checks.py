"""What the doctor finds about the tree of actors, beside what test_other_checks.py has."""

from __future__ import annotations

from actors.agent.doctor import agent_checks
from actors.agent.doctor.finding import Level
from supervision.protocol import ActorState, LastingFault, Tree, Trouble


def actor(name: str, injected: list[LastingFault] | None = None) -> ActorState:
    return ActorState(name=name, parent="root", kind="actor", state="running", pid=5, injected=injected or [])


def test_an_actor_that_is_down_hides_no_other_finding_about_the_tree() -> None:
    wedged = ActorState(name="prober", parent="root", kind="actor", state="down", last_incident="hang 3s ago")
    taken = Trouble("port", "cannot listen on 0.0.0.0:10250: Address already in use", 3.0, "node_server")
    found = Tree(pid=1, uptime=1.0, state="degraded", actors=[actor("root"), wedged], troubles=[taken])
    down, stopped, port = agent_checks.tree(found, {5})
    assert down.text == "down: prober: down, last incident: hang 3s ago"
    assert (stopped.level, stopped.remedy) == (Level.FAILURE, "kill -CONT 5, or wait: its supervisor replaces it")
    assert port.text.startswith("port: cannot listen")


def test_an_injected_fault_that_lasts_is_named_with_the_command_that_ends_it() -> None:
    slow = actor("pleg", [LastingFault("slow", 20.0)])
    (found,) = agent_checks.tree(Tree(pid=1, uptime=1.0, state="ready", actors=[slow]))
    assert (found.level, found.remedy) == (Level.WARNING, "supervise inject pleg crash")
