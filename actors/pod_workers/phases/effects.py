"""The effects that a phase asks of the executor, as data. Their results come back as events of `pod`."""

from __future__ import annotations

from typing import Literal

import msgspec

from actors.shared.cri.model import CriContainer, Sandbox

from .actions import Kill, Start


class Effect(msgspec.Struct, frozen=True):
    """An operation outside the pod worker."""


class ReadRuntime(Effect, frozen=True):
    """Ask the runtime for everything of the pod."""


class ReadRuntimeAgain(Effect, frozen=True):
    """Ask the runtime only for the known objects and those made since. After a round without failures there are no
    others."""


class AwaitListed(Effect, frozen=True):
    """Check that each running container is listed again or has ended. Fails until then."""


class Publish(Effect, frozen=True):
    """Send the changes to the status manager and the prober."""


class Announce(Effect, frozen=True):
    """Emit a Kubernetes event for the pod or one of its containers."""

    kind: Literal["Normal", "Warning"]
    reason: str
    text: str
    container: str = ""


class AskForKillOrder(Effect, frozen=True):
    """Ask whether the node ended the pod (a shutdown, an eviction): then the order with the reason follows."""


class Admit(Effect, frozen=True):
    """Ask for admission, and create cgroup and volumes."""


class AllocateResize(Effect, frozen=True):
    """Ask the container manager for the resources that the pod now requests."""


class ActuateResize(Effect, frozen=True):
    """Apply the allocated resources to containers and cgroup."""


class StopPod(Effect, frozen=True):
    """Stop all containers, then the sandboxes."""

    remove_created: bool = False
    """Also remove containers that were never started. The runtime refuses to remove one that is starting; once it runs
    it is stopped normally."""
    ends_pod: bool = False
    """The pod itself ends: if the runtime fails, an event is emitted."""


class StopContainers(Effect, frozen=True):
    """Stop these containers of a pod that continues to run."""

    kills: list[Kill]


class RestartAll(Effect, frozen=True):
    """Stop and remove all containers except ephemeral ones, `sources` last, so that an interrupted restart is repeated
    (KEP-5532)."""

    sources: list[CriContainer]


class StartContainers(Effect, frozen=True):
    """Create a sandbox, start existing containers, create and start others."""

    create_sandbox: bool = False
    attempt: int = 0
    """The attempt number of the sandbox."""
    resume: list[CriContainer] = []
    start: list[Start] = []


class RunPostStart(Effect, frozen=True):
    """Run the postStart hooks of these containers that were interrupted, or whose start was never answered: a hook runs
    at least once."""

    containers: list[CriContainer]


class CollectGarbage(Effect, frozen=True):
    """Remove dead containers, their logs, and dead sandboxes."""

    containers: list[CriContainer]
    sandboxes: list[Sandbox]


class Count(Effect, frozen=True):
    """Tell the container manager to count the pod, if its containers run and it was not admitted by this pod worker."""


class FreeResources(Effect, frozen=True):
    """Tell the container manager that other pods may have the pod's resources, because no source has the pod."""


class ReleaseResources(Effect, frozen=True):
    """Tell the container manager that the pod no longer uses resources."""


class Unprepare(Effect, frozen=True):
    """Have the drivers unprepare the resource claims."""


class Unmount(Effect, frozen=True):
    """Unmount the volumes."""


class Release(Effect, frozen=True):
    """Remove the cgroup."""


class RemoveTraces(Effect, frozen=True):
    """Remove the pod's objects from the runtime, then its logs and its directory."""
