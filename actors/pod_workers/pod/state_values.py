"""The parts of a pod's state: views, attempts, instances, probe results, held resources, rounds. Data only."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import KnownIds, known_ids
from actors.shared.hardware.allocation import ContainerAllocation
from actors.status_manager.messages import Waiting

from .lost_container import LostContainer
from .unlisted_containers import NOTHING, UnlistedContainers


class PodView(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime's state of the pod, and the pod worker's own changes since its last look."""

    runtime: PodRuntime | None = None
    stale: bool = True
    """`runtime` may be incomplete: the PLEG's report to a new shard may be older than the last shard's changes."""
    changed: bool = False
    """The pod worker has changed something and must look before it decides again."""
    sandboxes: tuple[str, ...] = ()
    """Ids of the sandboxes created since the last look."""
    containers: dict[str, str] = {}
    """Ids of the containers created since the last look, with their sandboxes."""
    unlisted: UnlistedContainers = NOTHING
    slow_call: tuple[str, float] = ("", 0.0)
    """The CRI method that the pod worker has waited for long, and since when, seconds since 1970; '': none."""

    @property
    def known(self) -> KnownIds:
        """All that the runtime has of the pod, as far as the pod worker knows."""
        seen = known_ids(self.runtime)
        return KnownIds([*seen.sandboxes, *self.sandboxes], {**seen.containers, **self.containers})


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The last try to start a container."""

    waiting: Waiting | None = None
    """The waiting state that users see."""
    not_before: float = 0.0
    """The end of the backoff, which no wake-up shortens. Seconds since 1970; 0.0: none."""
    consecutive_restarts: int = 0
    """The restart count of the next instance after a restart of all containers; 0: not set."""
    lost: LostContainer | None = None
    """Not None while the runtime has lost it."""
    under_way_since: float = 0.0
    """When an earlier order to start it was first found to be under way. Seconds since 1970; 0.0: it is not."""
    crash_loop_announced_at: float = 0.0
    """When the last event reported its crash loop. Seconds since 1970; 0.0: it does not wait."""


class ContainerInstance(msgspec.Struct, frozen=True, kw_only=True):
    """The pod worker's own knowledge of one container, by id: probes and in-flight hooks."""

    unhealthy: str = ""
    """Why it must be stopped: `liveness` or `startup` probe, or `postStart` hook."""
    startup_passed: bool = False
    post_start_due: bool = False
    """Its hook was interrupted, or its start was not answered and may have succeeded."""
    start_interrupted: bool = False
    """The runtime ended during its start."""
    start_answered: bool = False
    """The runtime has answered that it is started."""
    pre_stop_started: bool = False
    """Its hook does not run again, however often its termination is retried."""
    termination_announced: bool = False
    restarting: bool = False
    """It is stopped for a restart, whatever its exit code."""
    stopped: bool = False
    """The runtime has stopped it."""


class Verdicts(msgspec.Struct, frozen=True):
    """The results of probes and hooks, by container id."""

    unhealthy: dict[str, str] = {}
    """The containers to stop, with the reason: `liveness` or `startup` probe, or `postStart` hook."""
    started: frozenset[str] = frozenset()
    """Containers whose startup probe has passed."""


class Retry(msgspec.Struct, frozen=True):
    """Consecutive failed tries, of any phase. Their pauses (`results.RETRIES`) are our own: a restart of the runtime
    lasts seconds. Those of a container or a pull are a ContainerBackoff and a PullBackoffs."""

    failures: int = 0
    trouble: str = ""
    """The error of the last one."""


class AcquiredResources(msgspec.Struct, frozen=True, kw_only=True):
    """The pod's resources on the node besides its containers."""

    cgroup_parent: str = ""
    volumes: dict[str, str] = {}
    """Host path of each volume."""
    groups: list[int] = []
    """The supplemental groups of the volumes."""
    counted: bool = False
    """Whether the container manager counts its resources."""
    unprepared: bool = False
    """Whether its resource claims are unprepared, at its end."""
    unmounted: bool = False
    """Whether its volumes are unmounted."""
    containers: dict[str, ContainerAllocation] = {}
    """CPUs, memory nodes and devices of its containers, by name."""
    prepare: bool = False
    """The container manager is asked for them again before each container is created."""

    @property
    def exclusive_cpus(self) -> bool:
        """Whether a container has CPUs of its own."""
        return any(one.exclusive_cpus for one in self.containers.values())


class RoundPart(StrEnum):
    """A part of a round, which is tried once per round."""

    KILL_ORDER = "kill order"
    ADMISSION = "admission"
    ALLOCATION = "allocation"
    ACTUATION = "actuation"
    ACTIONS = "actions"
    GARBAGE = "garbage"
    STOP = "stop"
    UNPREPARE = "unprepare"
    UNMOUNT = "unmount"
    RELEASE = "release"
    REMOVAL = "removal"


class Round(msgspec.Struct, frozen=True):
    """The effects since the pod worker woke."""

    done: frozenset[RoundPart] = frozenset()
    """The parts already tried."""
    network_announced: bool = False
    """An event has already reported that the pod waits for a network."""
