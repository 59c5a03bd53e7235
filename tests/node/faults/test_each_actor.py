"""Each actor of the tree injured in each way, while pods run, start and stop around it.

One agent for all: the faults come in sequence, as on a bad day. After each, nothing of the containers has changed, the
actor is back, and one incident names it and the cause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from actors.config.agent import Agent
from actors.tree import tree
from supervision.spec import walk
from tests.support.faulty_node import FaultyNode, HealthWatch
from tests.support.runtime import runtime_running

NAMES = [name for name, _, _ in walk(tree(Agent()))]
SUPERVISORS = [name for name, _, spec in walk(tree(Agent())) if spec.children]
LEAVES = [name for name in NAMES if name not in SUPERVISORS]
STEADY = ("steady-a", "steady-b", "steady-c")
REPLACEMENT_SECONDS = 3.0
"""The health server, or all with it, replaced on a busy machine; without a fault of its own it answers throughout."""


@pytest.fixture(scope="module")
def node() -> Iterator[FaultyNode]:
    with runtime_running() as runtime:
        agent = FaultyNode(runtime)
        agent.start()
        agent.wait_whole()
        agent.add(*STEADY)
        agent.wait_running(*STEADY)
        yield agent
        agent.remove()


@pytest.fixture
def steady(node: FaultyNode) -> Iterator[FaultyNode]:
    """The agent, whose steady pods are the same containers before and after."""
    node.wait_whole()
    before = {name: node.running()[name] for name in STEADY}
    yield node
    node.wait_whole()
    assert {name: node.running().get(name) for name in STEADY} == before
    assert node.doubles() == []


def may_interrupt_health(name: str) -> bool:
    return name in ("root", "http_servers", "http_servers/healthz_server")


@pytest.mark.parametrize("fault", ["crash", "exception"])
@pytest.mark.parametrize("name", NAMES)
def test_a_part_that_dies_is_replaced_and_nothing_else_notices(steady, name, fault):
    incarnation = steady.actors()[name].incarnation
    known = len(steady.incidents_of(name))
    pod = f"new-{NAMES.index(name)}-{fault}"
    with HealthWatch(steady).watching() as health:
        steady.add(pod)
        steady.inject(name, fault)
        steady.wait_replaced(name, incarnation)
        steady.wait_running(pod)
        steady.withdraw(pod)
        steady.wait_gone(pod)
    fresh = steady.incidents_of(name)[known:]
    assert [(one.cause, one.signal) for one in fresh] == [
        ("signal", "SIGKILL") if fault == "crash" else ("exception", "")
    ]
    assert health.longest < (REPLACEMENT_SECONDS if may_interrupt_health(name) else 1.0)
    assert health.asked > 5


def hang(node: FaultyNode, names: list[str], fault: str) -> None:
    """Injure them at the same time; each is to be replaced, with one incident that says hang."""
    before = {name: (node.actors()[name].incarnation, len(node.incidents_of(name))) for name in names}
    for name in names:
        node.inject(name, fault)
    for name, (incarnation, _) in before.items():
        node.until(lambda name=name, old=incarnation: node.actors()[name].incarnation > old, f"{name} replaced")
    node.wait_whole()
    for name, (_, known) in before.items():
        assert [one.cause for one in node.incidents_of(name)[known:]] == ["hang"], name


@pytest.mark.parametrize("part", range(0, len(LEAVES), 4))
def test_parts_that_loop_for_ever_are_found_and_replaced(steady, part):
    hang(steady, LEAVES[part : part + 4], "hang")


def test_stopped_parts_are_found_and_replaced_all_at_once(steady):
    began = time.monotonic()
    hang(steady, LEAVES, "stop")
    assert time.monotonic() - began < 25


@pytest.mark.parametrize("fault", ["hang", "stop"])
@pytest.mark.parametrize("name", SUPERVISORS)
def test_a_supervisor_that_hangs_is_replaced_with_all_below_it(steady, name, fault):
    hang(steady, [name], fault)


def test_slow_handlers_everywhere_delay_and_break_nothing(steady):
    known = len(steady.incidents())
    for name in LEAVES:
        steady.inject(name, "slow", seconds=8, rate=0.1)
    with HealthWatch(steady).watching() as health:
        steady.add("slow")
        steady.wait_running("slow")
        steady.withdraw("slow")
        steady.wait_gone("slow")
    assert steady.incidents()[known:] == []
    assert health.longest < 2.0
