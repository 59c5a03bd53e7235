"""What a phase asks the executor for. Each is data; what came of it comes back as events of `pod`."""

from __future__ import annotations

from typing import Literal

import msgspec

from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import Sandbox

from .actions import Kill, Start


class Effect(msgspec.Struct, frozen=True):
    """Something that is done outside of the pod worker."""


class Look(Effect, frozen=True):
    """Ask the runtime for all that it has of the pod."""


class LookAgain(Effect, frozen=True):
    """Ask the runtime for what is known and what was made since: where nothing went wrong, nothing else is there."""


class Publish(Effect, frozen=True):
    """Tell the status manager and the prober what has changed."""


class Announce(Effect, frozen=True):
    """Tell users, by a Kubernetes event of the pod or of a container of it."""

    kind: Literal["Normal", "Warning"]
    reason: str
    text: str
    container: str = ""


class AskForShutdown(Effect, frozen=True):
    """Ask whether a shutdown of the node ended the pod: then an order with the reason follows."""


class Admit(Effect, frozen=True):
    """Find out whether the pod may run here, and have its cgroup and volumes made."""


class AllocateResize(Effect, frozen=True):
    """Ask the container manager for the room that the pod wants now."""


class ActuateResize(Effect, frozen=True):
    """Bring containers and cgroup to what is allocated."""


class StopPod(Effect, frozen=True):
    """Stop all containers, then the sandboxes."""

    remove_created: bool = False
    """Remove those that were never started, too. A runtime does not remove one that it is just starting: soon that
    runs, and is stopped as it should be."""
    ends_pod: bool = False
    """It is the pod's end: users are told when the runtime does not do it."""


class StopContainers(Effect, frozen=True):
    """Stop these containers of a pod that goes on."""

    kills: list[Kill]


class RestartAll(Effect, frozen=True):
    """Stop and remove all containers but the ephemeral ones, `sources` last: until then it is begun again
    (KEP-5532)."""

    sources: list[Ran]


class StartContainers(Effect, frozen=True):
    """Make a sandbox, start containers that exist, create and start others."""

    create_sandbox: bool = False
    attempt: int = 0
    """Of the sandbox."""
    resume: list[Ran] = []
    start: list[Start] = []


class RunPostStart(Effect, frozen=True):
    """Run the postStart hooks of these containers that broke off, or that wait for a start which was never answered: a
    hook is run at least once."""

    containers: list[Ran]


class CollectGarbage(Effect, frozen=True):
    """Remove dead containers, their logs, and dead sandboxes."""

    containers: list[Ran]
    sandboxes: list[Sandbox]


class StopCounting(Effect, frozen=True):
    """Tell the container manager that the pod uses nothing any more."""


class Unmount(Effect, frozen=True):
    """Have the volumes unmounted."""


class Release(Effect, frozen=True):
    """Have the cgroup removed."""


class RemoveTraces(Effect, frozen=True):
    """Remove what is left in the runtime, then logs and directory of the pod."""
