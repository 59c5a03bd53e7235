"""The plan of a chaos run: the same for a seed, possible at each moment, and at its end all is undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import pytest

from supervision.protocol import Fault
from tests.chaos import faults
from tests.chaos.cluster import SORTS
from tests.chaos.faults.actors import FAULTS
from tests.chaos.model import Check, Drawn, Kind, Step
from tests.chaos.plan import FEWEST_PODS, plan
from tests.chaos.target import ACTORS

TABLES: list[Sequence[Kind[Any]]] = [faults.ALONE, faults.IN_A_CLUSTER]
tables = pytest.mark.parametrize("kinds", TABLES, ids=["alone", "in a cluster"])
MOST = 8


def steps(seed: int, kinds: Sequence[Kind[Any]], seconds: float = 300.0) -> Iterator[Step]:
    return plan(seed, seconds, kinds, ACTORS, SORTS, MOST)


@tables
def test_the_same_seed_gives_the_same_plan(kinds: Sequence[Kind[Any]]) -> None:
    assert list(steps(7, kinds)) == list(steps(7, kinds)) != list(steps(8, kinds))


@tables
def test_each_kind_has_a_name_of_its_own_and_comes_in_a_long_run(kinds: Sequence[Kind[Any]]) -> None:
    names = [one.name for one in kinds]
    assert len(names) == len(set(names))
    assert {one.kind for one in steps(1, kinds, 4000.0)} == set(names)


@tables
@pytest.mark.parametrize("seed", range(20))
def test_every_step_of_a_plan_is_possible_when_it_is_due(kinds: Sequence[Kind[Any]], seed: int) -> None:
    """Pods are there that something is done to, nothing is asked of a server that is away, time goes on."""
    by_name = {one.name: one for one in kinds}
    pods, away, at = set[str](), False, 0.0
    for step in steps(seed, kinds):
        kind = by_name[step.kind]
        assert step.at >= at
        at = step.at
        if kind.takes_server:
            assert away == step.undo
            away = not step.undo
        assert not (away and kind.needs_server)
        if step.kind == "create":
            assert step.name not in pods
            pods.add(step.name)
        elif step.name.startswith("pod-"):
            assert step.name in pods
        if step.kind == "delete":
            pods.discard(step.name)
        assert len(pods) <= MOST
    assert not away
    assert len(pods) >= FEWEST_PODS - 1


def kind(name: str, draw: Callable[[Any], Drawn | None] = lambda draw: Drawn(seconds=5.0), **more: Any) -> Kind[Any]:
    def nothing(target: object, step: Step) -> None:
        """A kind whose effect is not looked at."""

    return Kind(name, 1, draw, nothing, nothing, **more)


def test_a_new_kind_is_one_entry_and_its_end_comes_when_it_is_due() -> None:
    found = list(steps(3, [*faults.ALONE, kind("a new one")]))
    mine = [one for one in found if one.kind == "a new one"]
    begun = [one.at for one in mine if not one.undo]
    ended = [one.at for one in mine if one.undo]
    assert begun
    assert len(begun) == len(ended)
    assert all(end <= 300.0 for end in ended)
    assert ended[0] == pytest.approx(begun[0] + 5.0)


def test_each_kind_of_fault_declares_its_checks() -> None:
    checks = [check for one in faults.IN_A_CLUSTER for check in one.holds]
    assert all(isinstance(one, Check) for one in checks)
    assert {one.name for one in faults.IN_A_CLUSTER if one.holds} >= {"fault", "kill", "secret", "exec", "server away"}


def test_every_fault_that_can_be_injected_comes_in_a_chaos_run() -> None:
    assert {fault for fault, weight in FAULTS if weight} == set(get_args(Fault))
