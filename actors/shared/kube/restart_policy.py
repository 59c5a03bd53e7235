"""Whether an ended container is restarted: by its rules, its policy, its pod's policy. Pure."""

from __future__ import annotations

from typing import Final

from .container import Container
from .pod import ContainerStateTerminated, ContainerStatus, Pod
from .pods import is_sidecar

RESTART: Final = "Restart"
RESTART_ALL: Final = "RestartAllContainers"
RESTARTING_ALL: Final = "RestartingAllContainers"
"""The waiting reason while all containers of the pod are stopped for RESTART_ALL."""
POST_START_ERROR: Final = "PostStartHookError"
"""The waiting reason of a container that was stopped because its postStart hook failed."""

KILLED: Final = 137
"""Exit code of a container that was killed."""
OUT_OF_MEMORY: Final = "OOMKilled"


def init_exit_code(exit_code: int, reason: str) -> int:
    """The effective exit code of an init container (not a sidecar). If the kernel killed one of its processes for
    memory it has failed, with any exit code of its first process."""
    return KILLED if exit_code == 0 and reason == OUT_OF_MEMORY else exit_code


def rule_for(container: Container, exit_code: int) -> str:
    """The action of the first rule that matches the exit: Restart, RestartAllContainers, or '' (KEP-5307)."""
    for rule in container.restartPolicyRules:
        codes = rule.exitCodes
        if codes is not None and (exit_code in codes.values) == (codes.operator == "In"):
            return rule.action
    return ""


def can_restart_all(pod: Pod) -> bool:
    """Whether the exit of a container may restart all containers (KEP-5532)."""
    containers = (*pod.spec.initContainers, *pod.spec.containers)
    return any(rule.action == RESTART_ALL for container in containers for rule in container.restartPolicyRules)


def may_restart(pod: Pod, container: Container, exit_code: int, *, init: bool) -> bool:
    """Whether the policy restarts it after this exit (KEP-5307 for the rules of a single container)."""
    if init and is_sidecar(container):
        return True
    if rule_for(container, exit_code) in (RESTART, RESTART_ALL):
        return True
    policy = container.restartPolicy or pod.spec.restartPolicy
    if policy == "Always":
        # an init container that succeeded has done its work
        return not init or exit_code != 0
    return policy == "OnFailure" and exit_code != 0


def ended_for_good(pod: Pod, container: Container, status: ContainerStatus) -> ContainerStateTerminated | None:
    """How a regular container ended by its status, if it is not started again: it must not run twice."""
    ended = status.state.terminated
    if ended is None or can_restart_all(pod) or may_restart(pod, container, ended.exitCode, init=False):
        return None
    return ended
