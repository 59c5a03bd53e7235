"""Computes the next actions for a running pod from the state of the runtime. Pure.

The order is the kubelet's: the sandbox; init containers one at a time, while sidecars among them keep running; then the
regular containers, which do not wait for each other; ephemeral containers once.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.runtime import alive
from actors.pod_workers.pod.state import PodState
from actors.shared.cri.model import CriContainerState, PodRuntime, Sandbox
from actors.shared.cri.next_instance import starts_again
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.restart_policy import init_exit_code

from .actions import ActionsInput, PodActions
from .container_actions import NEW_SANDBOX, ContainerActions, ends_when_lost


def compute_actions(facts: ActionsInput, *, cgroup_gone: bool = False) -> PodActions:
    """The next actions. `cgroup_gone`: as in StepInput."""
    pod, runtime = facts.pod, facts.runtime
    sandbox, needs_new, attempt = choose_sandbox(pod, runtime, cgroup_gone=cgroup_gone)
    if not needs_new:
        return ContainerActions(facts, sandbox.id if sandbox is not None else "").actions(attempt)
    has_begun = bool(runtime.sandboxes or facts.lost)
    if has_begun and not _needs_new_sandbox(pod, runtime, facts.restarting, facts.lost):
        return PodActions(kill_pod=True, done=True, initialized=_has_run(pod, runtime))
    first = ContainerActions(facts, NEW_SANDBOX).first_starts()
    kill = bool(runtime.sandboxes or alive(runtime))
    return msgspec.structs.replace(first, kill_pod=kill, create_sandbox=True, attempt=attempt)


def actions_of(state: PodState, now: float, maximum_backoff: float, *, cgroup_gone: bool = False) -> PodActions:
    """The next actions for an admitted pod, or one about to be admitted."""
    pod, runtime = state.wanted.pod, state.runtime
    if pod is None or runtime is None:
        return PodActions()
    facts = ActionsInput(
        pod, runtime, state.verdicts, now, maximum_backoff, state.restarting, state.stopped, state.lost
    )
    return compute_actions(facts, cgroup_gone=cgroup_gone)


class SandboxChoice(NamedTuple):
    """The sandbox that a pod continues in, or needs."""

    newest: Sandbox | None
    """None: there is none yet."""
    needs_new: bool
    attempt: int
    """Of the new one if one is needed, else of `newest`."""


def choose_sandbox(pod: Pod, runtime: PodRuntime, *, cgroup_gone: bool = False) -> SandboxChoice:
    """Like the kubelet, a pod whose cgroup was removed gets a new one."""
    if not runtime.sandboxes:
        return SandboxChoice(None, True, 0)
    newest = runtime.sandboxes[0]
    attempt = newest.attempt + 1
    ready = [sandbox for sandbox in runtime.sandboxes if sandbox.ready]
    if cgroup_gone or len(ready) > 1 or not newest.ready or newest.host_network != pod.spec.hostNetwork:
        return SandboxChoice(newest, True, attempt)
    if not pod.spec.hostNetwork and not newest.ips:
        return SandboxChoice(newest, True, attempt)
    return SandboxChoice(newest, False, newest.attempt)


def lost_with_sandbox(pod: Pod, runtime: PodRuntime) -> list[str]:
    """Ids of the containers that are stopped only because their sandbox is lost. Whatever their exit code, their work
    is not done, so they run again in the next sandbox. Containers with the policy Never are excluded."""
    policies = {one.name: one.restartPolicy or pod.spec.restartPolicy for one in pod.spec.containers}
    return [instance.id for instance in alive(runtime) if policies.get(instance.name, "Never") != "Never"]


def _needs_new_sandbox(
    pod: Pod, runtime: PodRuntime, restarting: AbstractSet[str], lost: Mapping[str, LostContainer]
) -> bool:
    """Whether any container would run in a new sandbox."""
    if not (runtime.containers or lost):
        return True
    if any(_failed_for_good(pod, container, runtime) for container in pod.spec.initContainers):
        return False
    if any(one.name in lost and ends_when_lost(pod, one, lost[one.name], init=True) for one in pod.spec.initContainers):
        return False
    ends = {
        one.name
        for one in pod.spec.containers
        if one.name in lost and ends_when_lost(pod, one, lost[one.name], init=False)
    }
    again = [one for one in pod.spec.containers if one.name not in ends]
    return any(_runs_again(pod, container, runtime, restarting) for container in again)


def _failed_for_good(pod: Pod, container: Container, runtime: PodRuntime) -> bool:
    """Whether this init container has ended the pod."""
    last = runtime.newest(container.name)
    if last is None or last.state is not CriContainerState.EXITED or init_exit_code(last.exit_code, last.reason) == 0:
        return False
    return not starts_again(pod, container, last, init=True)


def _runs_again(pod: Pod, container: Container, runtime: PodRuntime, restarting: AbstractSet[str]) -> bool:
    """Whether this container would run in a new sandbox. A container that never ended is lost with the old sandbox, and
    runs again unless its policy is Never. One that has not begun has not run: only the policy of its pod may be the end
    of it, as of any container of a pod that must run once."""
    last = runtime.newest(container.name)
    begun = last is not None and last.state is not CriContainerState.CREATED
    if not begun and pod.spec.restartPolicy != "Never":
        return True
    if last is None or last.state is not CriContainerState.EXITED:
        return (container.restartPolicy or pod.spec.restartPolicy) != "Never" or bool(container.restartPolicyRules)
    return last.id in restarting or starts_again(pod, container, last, init=False)


def _has_run(pod: Pod, runtime: PodRuntime) -> bool:
    return any(runtime.newest(container.name) is not None for container in pod.spec.containers)
