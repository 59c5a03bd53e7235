"""What is injured: an agent and the pods that are wanted of it. One with static pods here, one in a cluster beside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from actors.shared.config.agent import Agent
from actors.tree import tree
from supervision.spec import walk
from tests.support.faulty_node import FaultyNode, HealthWatch

from .model import Check, Sort, Step
from .run_record import RunRecord
from .workload import Wanted

ACTORS = [name for name, _, _ in walk(tree(Agent()))]
HEALTH_SECONDS = 30.0
"""The health server may be hung itself, be found, and be replaced, on a machine that has much else to do."""
FORK_SERVER_FDS, FORK_SERVER_GROWTH = 400, 24 << 20


class Target(Protocol):
    """An agent. Raises AskError, AssertionError, KeyError or CriError for what misses its aim."""

    @property
    def node(self) -> FaultyNode: ...

    @property
    def record(self) -> RunRecord: ...

    def create(self, name: str, sort: Sort) -> None: ...

    def delete(self, name: str, grace: int | None) -> None: ...

    def forgive_unready(self) -> None:
        """What is being started when the runtime or the agent is killed may have to be started again."""

    def going_on(self) -> AbstractContextManager[None]:
        """What is looked at all the while."""

    def after(self, step: Step) -> None:
        """What is looked at after each step."""

    def repair(self) -> None:
        """What is away comes back."""

    def figures(self) -> dict[str, object]: ...


class StaticPods:
    """An agent without a cluster; its pods are files."""

    def __init__(self, node: FaultyNode) -> None:
        self.node, self.record = node, RunRecord()
        self.longest_silence = 0.0
        """Of /healthz, in seconds."""

    def create(self, name: str, sort: Sort) -> None:
        self.record.wanted[name] = Wanted(sort)
        self.node.add(name)

    def delete(self, name: str, grace: int | None) -> None:
        self.record.wanted.pop(name)
        self.node.withdraw(name)

    def forgive_unready(self) -> None:
        """Restarts of static pods are not counted."""

    @contextmanager
    def going_on(self) -> Iterator[None]:
        with HealthWatch(self.node).watching() as health:
            yield
        self.longest_silence = health.longest

    def after(self, step: Step) -> None:
        """Nothing more than of any agent."""

    def repair(self) -> None:
        """There is nothing that is away."""

    def figures(self) -> dict[str, object]:
        return {"healthz_gap": self.longest_silence}

    def remove(self) -> None:
        for manifest in self.node.manifests.glob("*.yaml"):
            manifest.unlink()
        self.node.remove()


# -- what must hold of any agent --------------------------------------------------------------------------------------
def _not_in_service(target: Target) -> list[str]:
    state = target.node.tree().state
    return [] if state == "ready" else [state]


def _bounded(target: Target, actor_bytes: int) -> list[str]:
    record, wrong = target.record, []
    if record.fork_server_fds > FORK_SERVER_FDS:
        wrong.append(f"the fork server had {record.fork_server_fds} open files")
    sizes = record.fork_server_bytes
    if sizes and max(sizes) - sizes[0] > FORK_SERVER_GROWTH:
        wrong.append(f"the fork server grew from {sizes[0]} to {max(sizes)} bytes")
    heavy = [one.name for one in target.node.tree().actors if one.memory_bytes > actor_bytes]
    return [*wrong, f"over {actor_bytes} bytes: {heavy}"] if heavy else wrong


def of_any_agent(actor_bytes: int) -> tuple[Check[Target], ...]:
    return (
        Check("every actor is in service", _not_in_service),
        Check("no process is left", lambda target: target.node.strays()),
        Check("nothing was wrong on the way", lambda target: target.record.unlike, 0),
        Check("memory and open files are bounded", lambda target: _bounded(target, actor_bytes), 0),
    )


# -- and of one with static pods --------------------------------------------------------------------------------------
def _other_pods(target: StaticPods) -> list[str]:
    return sorted(set(target.node.running()) ^ set(target.record.wanted))


def _traces(target: StaticPods) -> list[str]:
    found = target.node.traces()
    return [] if len(found) <= 2 * len(target.record.wanted) else sorted(found)


def _silence(target: StaticPods) -> list[str]:
    if target.record.killed or target.longest_silence <= HEALTH_SECONDS:
        return []
    return [f"/healthz did not answer for {target.longest_silence:.1f} s"]


def of_static_pods() -> tuple[Check[StaticPods], ...]:
    return (
        *of_any_agent(64 << 20),
        Check("the wanted pods run, and no other", _other_pods),
        Check("no trace of other pods is left", _traces),
        Check("/healthz answered", _silence, 0),
    )
