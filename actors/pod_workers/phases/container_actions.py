"""The actions for the containers of a pod in its current sandbox. Pure."""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.starts import POST_START
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.cri.next_instance import starts_again
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container, has_sidecar, is_sidecar
from actors.shared.kube.restart_policy import init_exit_code, may_restart

from .actions import ActionsInput, ContainerBackoff, Kill, PodActions, Start
from .next_start import NextStarts, has_other_image, next_start
from .restart_all import restart_all

NEW_SANDBOX: Final = ""
"""In place of a sandbox's ID: it is not made yet, and has no containers."""


class InitProgress(enum.Enum):
    """How far the init containers of a pod are."""

    UNDER_WAY = enum.auto()
    DONE = enum.auto()
    """All have succeeded, and the sidecars have started."""
    FAILED = enum.auto()
    """One failed, and is not started again."""


def _kill_message(pod: Pod, name: str, what: str, *, again: bool) -> str:
    """The text of the event. As in the kubelet, a sidecar is an `Init container`, and its restart, which always
    follows, is not mentioned."""
    if has_sidecar(pod, name):
        return f"Init container {name} {what}"
    return f"Container {name} {what}" + (", will be restarted" if again else "")


def _restarts(pod: Pod, container: Container) -> bool:
    """Whether the policy restarts the container; no restart rule applies, as it may not have exited."""
    return (container.restartPolicy or pod.spec.restartPolicy) != "Never"


def ends_when_lost(pod: Pod, container: Container, lost: LostContainer, *, init: bool) -> bool:
    """Whether a container that the runtime has lost is not started again: a container that must run once would run
    twice. As in the kubelet, one that ran counts as killed."""
    return not may_restart(pod, container, lost.exit_code, init=init)


class ContainerActions:
    """A computation over the containers of one sandbox."""

    def __init__(self, facts: ActionsInput, sandbox_id: str) -> None:
        """`sandbox_id`: of the sandbox in use, or NEW_SANDBOX."""
        self.pod, self.runtime, self.sandbox_id, self.verdicts = facts.pod, facts.runtime, sandbox_id, facts.verdicts
        self.here = [one for one in facts.runtime.containers if sandbox_id and one.sandbox_id == sandbox_id]
        self.now, self.maximum = facts.now, facts.maximum_backoff
        self.restarting, self.stopped, self.lost = facts.restarting, facts.stopped, facts.lost
        self._next_starts = NextStarts(self.runtime, sandbox_id, not self.here, self.restarting, self.now, self.maximum)
        self.kill: list[Kill] = []
        self.resume: list[CriContainer] = []
        self.start: list[Start] = []
        self.backoff: list[ContainerBackoff] = []

    def newest(self, name: str) -> CriContainer | None:
        """The newest instance in this sandbox."""
        return next((instance for instance in self.here if instance.name == name), None)

    def actions(self, attempt: int) -> PodActions:
        last = [self.newest(one.name) for one in (*self.pod.spec.initContainers, *self.pod.spec.containers)]
        restart = restart_all(self.pod, [one for one in last if one is not None], self.now, self.maximum)
        if restart is not None:
            return msgspec.structs.replace(restart, attempt=attempt)
        self._duplicates()
        self._ephemeral()
        init = self._init()
        if init is InitProgress.FAILED:
            return PodActions(kill_pod=True, done=True, attempt=attempt)
        done, initialized = False, init is InitProgress.DONE
        if initialized:
            kept = [self._regular(container) for container in self.pod.spec.containers]
            ends = not any(kept)
            if ends:
                self.start, self.resume, self.backoff = [], [], []
            done = ends and not self.kill  # stop an unhealthy one first, with its probe's grace period
        return PodActions(
            kill_pod=done,
            attempt=attempt,
            kill=self.kill,
            resume=self.resume,
            start=self.start,
            backoff=self.backoff,
            done=done,
            initialized=initialized,
        )

    def first_starts(self) -> PodActions:
        """The starts in a new sandbox: the first init containers, or all regular containers. A container that crashed
        in an earlier sandbox stays in backoff."""
        if self._init() is InitProgress.DONE:
            for container in self.pod.spec.containers:
                self._regular(container)
        return PodActions(start=self.start, backoff=self.backoff)

    def _duplicates(self) -> None:
        """Stop a container that runs beside a later instance. A runtime that crashed may have started it unnoticed, or
        not listed it for a while."""
        for instance in self.runtime.containers:
            later = self.runtime.newest(instance.name)
            if instance is not later and instance.state is CriContainerState.RUNNING:
                self.kill.append(Kill(instance, f"Container {instance.name} runs twice, its earlier instance is ended"))

    # -- init containers and sidecars -------------------------------------------------------------------------------
    def _init(self) -> InitProgress:
        """Decide for the init containers."""
        regular = [container.name for container in self.pod.spec.containers]
        started = any(self.newest(name) is not None or self._lost_here(name) for name in regular)
        for container in self.pod.spec.initContainers:
            last = self.newest(container.name)
            if is_sidecar(container):
                up = self._sidecar(container, last)
                if not (up or started or self._later_init_ran(container)):
                    # a sidecar that has started before does not block others while it restarts
                    return InitProgress.UNDER_WAY
            elif started:
                continue  # it has run, but may have been garbage collected
            elif last is None and self._ended_when_lost(container, init=True):
                return InitProgress.FAILED
            elif last is None:
                # a later one has run, so this one was garbage collected
                if not self._later_init_ran(container):
                    self._start(container)
                    return InitProgress.UNDER_WAY
            elif self._has_completed(last):
                continue
            elif last.state is CriContainerState.EXITED:
                if not self._is_restarted(container, last, init=True):
                    return InitProgress.FAILED
                self._start(container)
                return InitProgress.UNDER_WAY
            elif last.state is CriContainerState.UNKNOWN and not _restarts(self.pod, container):
                return InitProgress.FAILED
            else:
                self._not_running(last) or self._unhealthy(last)
                return InitProgress.UNDER_WAY
        return InitProgress.DONE

    def _lost_here(self, name: str) -> bool:
        """Whether the runtime has lost the container in this sandbox: a new one begins with the init containers."""
        one = self.lost.get(name)
        return bool(self.sandbox_id) and one is not None and one.sandbox_id == self.sandbox_id

    def _ended_when_lost(self, container: Container, *, init: bool) -> bool:
        one = self.lost.get(container.name)
        return one is not None and ends_when_lost(self.pod, container, one, init=init)

    def _has_completed(self, last: CriContainer) -> bool:
        """Whether an init container has done its work; one that was stopped to be restarted has not."""
        good = last.state is CriContainerState.EXITED and init_exit_code(last.exit_code, last.reason) == 0
        return good and last.id not in self.restarting

    def _later_init_ran(self, container: Container) -> bool:
        names = [one.name for one in self.pod.spec.initContainers]
        later = names[names.index(container.name) + 1 :]
        return any(self.newest(name) is not None for name in later)

    def _sidecar(self, container: Container, last: CriContainer | None) -> bool:
        """Keep a sidecar running. Returns whether it has started, so that the next container may start."""
        if last is None or last.state is CriContainerState.EXITED:
            self._start(container)
            return False
        if last.state is not CriContainerState.RUNNING:
            self._not_running(last)
            return False
        if self._kill_if_changed(container, last) or self._unhealthy(last):
            return False
        return container.startupProbe is None or last.id in self.verdicts.started

    # -- regular containers -----------------------------------------------------------------------------------------
    def _regular(self, container: Container) -> bool:
        """Decide for one regular container. Returns whether it runs, will run, or may run again."""
        last = self.newest(container.name)
        if last is None:
            older = self.runtime.newest(container.name)
            if older is not None:
                return self._follow(container, older)
            if self._ended_when_lost(container, init=False):
                return False
            self._start(container)
            return True
        if last.state is CriContainerState.EXITED:
            if not self._is_restarted(container, last, init=False):
                return False
            self._start(container)
            return True
        if last.state is not CriContainerState.RUNNING:
            self._not_running(last)
            return True
        return self._keep_or_kill(container, last)

    def _follow(self, container: Container, older: CriContainer) -> bool:
        """Decide for a container of an earlier sandbox. One that must run once and runs still, as the sandbox is lost,
        has had its run: the API server takes no status in which it runs again. Rules need its exit code."""
        ended = older.state is CriContainerState.EXITED or older.id in self.restarting
        begun = older.state is not CriContainerState.CREATED
        if begun and not ended and not _restarts(self.pod, container):
            return bool(container.restartPolicyRules)
        if ended and not self._is_restarted(container, older, init=False):
            return False
        self._start(container)
        return True

    def _keep_or_kill(self, container: Container, last: CriContainer) -> bool:
        """Keep a running container, unless its definition changed or it is unhealthy."""
        if self._kill_if_changed(container, last):
            return True
        if self._unhealthy(last):
            return _restarts(self.pod, container)
        return True

    def _ephemeral(self) -> None:
        for container in self.pod.spec.ephemeralContainers:
            newest, last = self.runtime.newest(container.name), self.newest(container.name)
            if newest is None or newest.start_given_up:
                self.start.append(next_start(container, self.runtime))
            elif last is not None and last.state is CriContainerState.CREATED:
                self.resume.append(last)

    # -- shared -----------------------------------------------------------------------------------------------------
    def _is_restarted(self, container: Container, last: CriContainer, *, init: bool) -> bool:
        """Whether an ended container is restarted."""
        return last.id in self.restarting or starts_again(self.pod, container, last, init=init)

    def _kill_if_changed(self, container: Container, last: CriContainer) -> bool:
        if not has_other_image(container, last):
            return False
        text = _kill_message(self.pod, container.name, "definition changed", again=True)
        self.kill.append(Kill(last, text, restart=True))
        return True

    def _unhealthy(self, last: CriContainer) -> bool:
        kind = self.verdicts.unhealthy.get(last.id)
        if kind is None:
            return False
        container = find_container(self.pod, last.name)
        again = container is not None and _restarts(self.pod, container)
        if kind == POST_START:
            self.kill.append(Kill(last, "FailedPostStartHook", kind))
        else:
            text = _kill_message(self.pod, last.name, f"failed {kind} probe", again=again)
            self.kill.append(Kill(last, text, kind, restart=again))
        return True

    def _not_running(self, last: CriContainer) -> bool:
        """Start a created container now. Stop one in an unknown state; it is created again only after the runtime has
        stopped it, whatever state the runtime then reports."""
        if last.state is CriContainerState.RUNNING:
            return False
        if last.state is CriContainerState.CREATED:
            self.resume.append(last)
            return True
        container = find_container(self.pod, last.name)
        if container is not None and last.id in self.restarting & self.stopped:
            self._start(container)
            return True
        what = "Init container" if container in self.pod.spec.initContainers else "Container"
        text = f'{what} is in "unknown" state, try killing it before restart'
        self.kill.append(Kill(last, text, restart=True))
        return True

    def _start(self, container: Container) -> None:
        """Start it now, or put it in backoff."""
        match self._next_starts.of(container):
            case Start() as start:
                self.start.append(start)
            case backoff:
                self.backoff.append(backoff)
