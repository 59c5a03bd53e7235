"""Each box of the tree injured in each way, while pods run, start and stop around it.

One agent for all, with everything that the tree can have: the faults come in sequence, as on a bad day. After each,
the containers that ran are the same ones, a pod that was to start at that moment runs, one that was to end is gone, the
actor is back, and one incident, not two, names it and the cause; /healthz answers throughout, unless it is the one.
How long each takes `make bench` measures. A new box of the tree is covered by being there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import pytest

from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import tree
from supervision.protocol import Fault
from supervision.spec import ChildSpec, walk
from tests.support.faulty_node import DEFAULT_HEARTBEAT, HEALTH_SECONDS, FaultyNode, HealthWatch
from tests.support.managed import managed_runtime

pytestmark = pytest.mark.alone  # it hangs every part of an agent, which loads the machine
WHOLE = tree(
    Agent(config=KubeletConfiguration(readOnlyPort=1, shutdownGracePeriod=Duration(1))),
    ChildSpec(name="container_runtime", program=("containerd",)),
)
NAMES = [name for name, _, _ in walk(WHOLE)]
PROGRAMS = [name for name, _, spec in walk(WHOLE) if spec.program]
SUPERVISORS = [name for name, _, spec in walk(WHOLE) if spec.children]
LEAVES = [name for name in NAMES if name not in (*SUPERVISORS, *PROGRAMS)]
STEADY = ("steady-a", "steady-b", "steady-c")


@pytest.fixture(scope="module")
def node() -> Iterator[FaultyNode]:
    with managed_runtime() as runtime:
        agent = FaultyNode(runtime, with_every_box=True)
        try:
            agent.start()
            agent.wait_whole()
            agent.add(*STEADY)
            agent.wait_running(*STEADY)
            yield agent
        finally:
            agent.remove()


class Churn:
    """At each fault one pod is to start, and the one of the fault before is to end."""

    def __init__(self, node: FaultyNode) -> None:
        self._node, self._numbers = node, itertools.count()
        self._last = ""

    def turn(self) -> None:
        self._old, self._new = self._last, f"churn-{next(self._numbers)}"
        self._node.add(self._new)
        if self._old:
            self._node.withdraw(self._old)

    def wait(self) -> None:
        self._node.wait_running(self._new)
        if self._old:
            self._node.wait_gone(self._old)
        self._last = self._new


@pytest.fixture(scope="module")
def churn(node: FaultyNode) -> Churn:
    return Churn(node)


@pytest.fixture
def steady(node: FaultyNode) -> Iterator[FaultyNode]:
    """The agent, whose steady pods are the same containers before and after; no process is left over."""
    node.wait_whole()
    before = {name: node.running()[name] for name in STEADY}
    yield node
    node.wait_whole()
    assert {name: node.running().get(name) for name in STEADY} == before
    assert node.doubles() == []
    node.until(lambda: not node.strays(), "no process but those of the tree", 10.0)


def test_the_agent_under_test_is_the_whole_tree(steady):
    assert list(steady.actors()) == NAMES


def may_interrupt_health(name: str) -> bool:
    return name in ("root", "http_servers", "http_servers/healthz_server")


def is_replaced(node: FaultyNode, name: str, incarnation: int) -> bool:
    return node.actors()[name].incarnation > incarnation


def replace(node: FaultyNode, churn: Churn, name: str, fault: Fault, cause: tuple[str, str]) -> None:
    incarnation, known = node.actors()[name].incarnation, len(node.incidents())
    with HealthWatch(node).watching() as health:
        churn.turn()
        node.inject(name, fault)
        node.until(lambda: is_replaced(node, name, incarnation), f"{name} replaced")
        node.wait_whole()
        churn.wait()
    fresh = node.incidents()[known:]
    assert [(one.actor, one.cause, one.signal) for one in fresh] == [(name, *cause)]
    node.until(lambda: node.incidents()[known].restart_seconds is not None, "how long it took is written")
    assert health.answered > 5
    assert may_interrupt_health(name) or health.unanswered == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_part_is_replaced_without_other_effects(steady, churn, name):
    replace(steady, churn, name, "crash", ("signal", "SIGKILL"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PROGRAMS])
def test_a_part_whose_handler_raises_is_replaced_without_other_effects(steady, churn, name):
    replace(steady, churn, name, "exception", ("exception", ""))


def hang(node: FaultyNode, churn: Churn, names: list[str], fault: Fault) -> None:
    """Injure them at the same time; each is to be replaced, with one incident that says hang, and the pods go on."""
    before = {name: node.actors()[name].incarnation for name in names}
    known = len(node.incidents())
    churn.turn()
    for name in names:
        node.inject(name, fault)
    if not any(map(may_interrupt_health, names)):
        assert node.healthy(HEALTH_SECONDS), "/healthz answers"
        assert all(node.actors()[name].incarnation == one for name, one in before.items()), "while they hang"
    for name, incarnation in before.items():
        node.until(partial(is_replaced, node, name, incarnation), f"{name} replaced")
    node.wait_whole()
    churn.wait()
    fresh = node.incidents()[known:]
    assert sorted((one.actor, one.cause, one.signal) for one in fresh) == sorted((n, "hang", "SIGKILL") for n in names)
    if fault == "hang":
        assert all("supervision/faults.py" in one.detail for one in fresh), "the stack of the loop"


@pytest.mark.parametrize("part", range(0, len(LEAVES), 4), ids=lambda part: "+".join(LEAVES[part : part + 4]))
def test_parts_that_loop_for_ever_are_found_and_replaced(steady, churn, part):
    hang(steady, churn, LEAVES[part : part + 4], "hang")


@pytest.mark.parametrize("fault", ["hang", "stop"])
@pytest.mark.parametrize("name", SUPERVISORS)
def test_a_supervisor_that_hangs_is_replaced_with_all_below_it(steady, churn, name, fault):
    hang(steady, churn, [name], fault)


def test_a_stopped_runtime_only_delays_pods(steady, churn):
    known = len(steady.incidents())
    with HealthWatch(steady).watching() as health:
        churn.turn()
        steady.inject("container_runtime", "stop", seconds=5)
        churn.wait()
    assert steady.incidents()[known:] == []
    assert health.unanswered == 0


def test_slow_handlers_everywhere_delay_and_break_nothing(steady, churn):
    known = len(steady.incidents())
    for name in (*LEAVES, *SUPERVISORS):
        steady.inject(name, "slow", seconds=8, rate=0.1)
    with HealthWatch(steady).watching() as health:
        churn.turn()
        churn.wait()
    assert steady.incidents()[known:] == []
    assert health.unanswered == 0


@pytest.mark.parametrize("name", LEAVES)
def test_one_very_slow_part_breaks_nothing(steady, churn, name):
    known = len(steady.incidents())
    with HealthWatch(steady).watching() as health:
        steady.inject(name, "slow", seconds=1.5, rate=0.5)
        churn.turn()
        churn.wait()
    assert steady.incidents()[known:] == []
    assert health.unanswered == 0


@pytest.mark.timeout(300)
def test_under_the_usual_policy_every_hang_is_found_though_all_hang_at_once():
    with managed_runtime() as runtime:
        node = FaultyNode(runtime, heartbeat_seconds=DEFAULT_HEARTBEAT, with_every_box=True)
        try:
            node.start()
            node.wait_whole()
            node.add(*STEADY)
            node.wait_running(*STEADY)
            before = node.running()
            for name in LEAVES:
                node.inject(name, "hang" if name == "pleg" else "stop")
            node.until(lambda: len(node.incidents()) >= len(LEAVES), "all found", 150.0)
            node.wait_whole()
            found = sorted((one.actor, one.cause) for one in node.incidents())
            assert found == sorted((name, "hang") for name in LEAVES)
            node.add("after")
            node.wait_running("after")
            assert {name: node.running()[name] for name in STEADY} == before
        finally:
            node.remove()
