"""Pods come and go, are changed and made ill, and their containers end."""

from __future__ import annotations

from ..cluster import Cluster
from ..cluster_checks import EXEC_WORKS, FILES, RESTARTS
from ..model import Draw, Drawn, Kind, Step
from ..target import StaticPods, Target
from ..workload import ILL

GRACES = (None, None, 1, 0)
"""None: that of the pod. 0: by force."""


# -- of any agent -----------------------------------------------------------------------------------------------------
def _draw_new(draw: Draw) -> Drawn | None:
    if len(draw.pods) >= draw.most:
        return None
    draw.count += 1
    name = f"pod-{draw.count}"
    draw.pods[name] = draw.rng.choices([sort for sort, _ in draw.sorts], [weight for _, weight in draw.sorts])[0]
    return Drawn(name, draw.pods[name])


def _create(target: Target, step: Step) -> None:
    target.create(step.name, step.what)  # type: ignore[arg-type]  # the plan draws sorts


def _draw_old(draw: Draw) -> Drawn | None:
    if not draw.pods:
        return None
    name = draw.rng.choice(list(draw.pods))
    del draw.pods[name]
    return Drawn(name, grace=draw.rng.choice(GRACES))


def _delete(target: Target, step: Step) -> None:
    target.delete(step.name, step.grace)


KINDS: tuple[Kind[Target], ...] = (
    Kind("create", 16, _draw_new, _create, needs_server=True),
    Kind("delete", 11, _draw_old, _delete, needs_server=True),
)


# -- of one with static pods ------------------------------------------------------------------------------------------
def _draw_any(draw: Draw) -> Drawn | None:
    return Drawn(draw.rng.choice(list(draw.pods))) if draw.pods else None


def _edit(target: StaticPods, step: Step) -> None:
    """A new UID: another pod of the same name."""
    target.node.add(step.name)


ALONE: tuple[Kind[StaticPods], ...] = (Kind("edit", 5, _draw_any, _edit),)


# -- of one in a cluster ----------------------------------------------------------------------------------------------
def _draw_lasting(draw: Draw) -> Drawn | None:
    return Drawn(draw.rng.choice(draw.lasting)) if draw.lasting else None


def _label(cluster: Cluster, step: Step) -> None:
    cluster.label(step.name, str(int(step.at * 1000)))


def _change_objects(cluster: Cluster, step: Step) -> None:
    """The secret and the config map that pods mount."""
    cluster.record.word += 1
    cluster.write_objects("PATCH")


def _toggle_health(cluster: Cluster, step: Step) -> None:
    """Make it ill, or well again."""
    if found := cluster.running(step.name):
        command = ["sh", "-c", f"if test -e {ILL}; then rm {ILL}; else touch {ILL}; fi"]
        cluster.node.ask_runtime(lambda client: client.exec_sync(found.id, command, 15))


def _kill(cluster: Cluster, step: Step) -> None:
    if found := cluster.running(step.name):
        cluster.record.wanted[step.name].ends += 1
        cluster.node.ask_runtime(lambda client: client.stop_container(found.id, 0))


def _exec(cluster: Cluster, step: Step) -> None:
    """What it prints is looked at when it has ended."""
    cluster.start_exec(step.name, f"said at {step.at}")


IN_A_CLUSTER: tuple[Kind[Cluster], ...] = (
    Kind("label", 4, _draw_lasting, _label, holds=(FILES,), needs_server=True),
    Kind("secret", 4, lambda draw: Drawn(), _change_objects, holds=(FILES,), needs_server=True),
    Kind("toggle", 5, _draw_lasting, _toggle_health),
    Kind("kill", 4, _draw_lasting, _kill, holds=(RESTARTS,)),
    Kind("exec", 4, _draw_lasting, _exec, holds=(EXEC_WORKS,), needs_server=True),
)
