"""When a container that ended is started again: the policy, and the pause before it. Pure.

The pause is derived from the containers' own history in the runtime, so that it goes on after a restart of the agent.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.cri.model import Container as Ran
from actors.cri.model import ContainerState
from actors.kube.container import Container
from actors.kube.pod import Pod
from actors.kube.pods import is_sidecar

FIRST_SECONDS = 10.0
RESET_SECONDS = 600.0
"""A container that ran for longer begins anew (fixed, whatever the maximum is)."""


def may_restart(pod: Pod, container: Container, exit_code: int, *, init: bool) -> bool:
    """Whether the policy wants it again after this exit (KEP-5307 for the rules of a single container)."""
    if init and is_sidecar(container):
        return True
    for rule in container.restartPolicyRules:
        codes = rule.exitCodes
        if codes is not None and (exit_code in codes.values) == (codes.operator == "In"):
            return rule.action == "Restart"
    policy = container.restartPolicy or pod.spec.restartPolicy
    if policy == "Always":
        # an init container that succeeded has done its work
        return not init or exit_code != 0
    return policy == "OnFailure" and exit_code != 0


def pause_after(count: int, maximum: float) -> float:
    """Seconds after the `count`-th start that failed in a row: none after the first, then 10 s doubling."""
    if count <= 0:
        return 0.0
    return min(maximum, min(FIRST_SECONDS, maximum) * 2.0 ** min(count - 1, 30))


def crashes_in_a_row(history: Sequence[Ran], restart_count: int) -> int:
    """How many restarts came without a long run between them.

    `history`: the dead containers of this name that the runtime still has, newest first (usually one or two; older ones
    are collected, so beyond them the restart count has to do).
    """
    for age, ran in enumerate(history):
        if ran.started_ns and ran.finished_ns - ran.started_ns > RESET_SECONDS * 1e9:
            return age
    return restart_count


def start_not_before(history: Sequence[Ran], maximum: float) -> float:
    """Seconds since 1970 at which the next instance may start; 0: at once."""
    dead = [ran for ran in history if ran.state is ContainerState.EXITED]
    if not dead:
        return 0.0
    count = crashes_in_a_row(dead, dead[0].restart_count)
    ended = dead[0].finished_ns or dead[0].created_ns
    pause = pause_after(count, maximum)
    return ended / 1e9 + pause if pause else 0.0
