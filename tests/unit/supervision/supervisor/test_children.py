"""What a supervisor's children are made of, and how a policy changes them."""

from __future__ import annotations

import msgspec
import pytest

from supervision.process_messages import Exited, ended_orderly
from supervision.spec import ChildSpec, Policy
from supervision.supervisor.children import ChildPhase, Ending, initial_state, with_policies

SPEC = ChildSpec(
    name="top", actor="m:Top", children=(ChildSpec(name="a", actor="m:A"), ChildSpec(name="b", actor="m:B"))
)


def policies(**settings: float) -> dict[str, Policy]:
    return {name: Policy(**settings) for name in ("top", "top/a", "top/b")}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cause", "status", "expected"),
    [("exit", 0, True), ("exit", 1 << 8, False), ("exit", 9, False), ("stopped", 0, False), ("hang", 0, False)],
)
def test_only_an_own_end_with_exit_code_0_is_orderly(cause: str, status: int, expected: bool) -> None:
    exited = Exited("a", 1, 7, status, cause)  # type: ignore[arg-type]
    assert ended_orderly(exited) is expected


def test_children_have_their_full_names_policies_and_budgets() -> None:
    state = initial_state(SPEC, "top", policies(shutdown_seconds=3.0))
    assert [(child.name, child.phase, child.policy.shutdown_seconds) for child in state.children] == [
        ("top/a", ChildPhase.WAITING, 3.0),
        ("top/b", ChildPhase.WAITING, 3.0),
    ]


def test_a_new_policy_changes_the_policies_and_budgets_and_nothing_else() -> None:
    state = initial_state(SPEC, "top", policies(shutdown_seconds=3.0))
    child = state.children[0]
    state = state.replace(msgspec.structs.replace(child, phase=ChildPhase.RUNNING, ended=4))
    changed = with_policies(state, SPEC, "top", policies(shutdown_seconds=9.0))
    assert changed.policy.shutdown_seconds == 9.0
    first, second = changed.children
    assert (first.phase, first.ended, first.policy.shutdown_seconds) == (ChildPhase.RUNNING, 4, 9.0)
    assert (second.phase, second.policy.shutdown_seconds) == (ChildPhase.WAITING, 9.0)
    assert first.budget > state.children[0].budget


@pytest.mark.parametrize(
    ("restart", "ending", "phase"),
    [
        ("permanent", Ending.NO, ChildPhase.WAITING),
        ("transient", Ending.NO, ChildPhase.GONE),
        ("temporary", Ending.NO, ChildPhase.GONE),
        ("permanent", Ending.STOPPED, ChildPhase.GONE),
    ],
)
def test_a_finally_ended_child_is_started_when_it_becomes_permanent(
    restart: str, ending: Ending, phase: ChildPhase
) -> None:
    state = initial_state(SPEC, "top", policies(restart="temporary"))  # type: ignore[arg-type]
    state = state.replace(msgspec.structs.replace(state.children[0], phase=ChildPhase.GONE))
    state = msgspec.structs.replace(state, ending=ending)
    changed = with_policies(state, SPEC, "top", policies(restart=restart))  # type: ignore[arg-type]
    assert changed.children[0].phase is phase
