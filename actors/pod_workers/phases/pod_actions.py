"""What a pod that is to run needs next, given what the runtime has of it. Pure: the heart of the agent.

Order, as in the reference: the sandbox; init containers one at a time, sidecars among them kept running; then
the regular containers, which do not wait for each other; ephemeral ones once.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import msgspec

from actors.pod_workers.containers import allocation
from actors.pod_workers.containers.spec_hash import container_hash
from actors.pod_workers.pod.runtime import alive
from actors.pod_workers.pod.starts import POST_START
from actors.pod_workers.pod.state import PodState, Verdicts
from actors.shared.cri.crash_loop import next_consecutive_restarts, start_not_before
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState, PodRuntime, Sandbox
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container, is_sidecar
from actors.shared.kube.restart_policy import RESTART_ALL, may_restart, rule_for

HASH = "io.kubernetes.container.hash"
KILLED = 137
"""Exit code of a container that was killed."""


class Kill(msgspec.Struct, frozen=True):
    container: Ran
    why: str
    probe: str = ""
    """`liveness` or `startup`, whose own grace period may count; `postStart` for the hook."""
    restart: bool = False
    """It is started anew, whatever it exits with."""


class Start(msgspec.Struct, frozen=True):
    container: Container
    restart_count: int
    consecutive_restarts: int = 0
    """How many, this one included, without a long run between them."""


class Backoff(msgspec.Struct, frozen=True):
    """A container that waits: until when, in seconds since 1970."""

    name: str
    until: float
    last: Ran


class PodActions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is to be done now; kills come first, then the sandbox, then the starts."""

    kill_pod: bool = False
    """Stop all containers and sandboxes first: the sandbox is to be replaced, or the pod has ended."""
    create_sandbox: bool = False
    attempt: int = 0
    restart_all: list[Ran] = []
    """Containers whose exit restarts all others, too: everything is stopped and removed, these last."""
    kill: list[Kill] = []
    resume: list[Ran] = []
    """Created by an earlier incarnation that did not get to start them."""
    start: list[Start] = []
    backoff: list[Backoff] = []
    done: bool = False
    """Every container has ended and none is to run again: the pod is complete."""
    initialized: bool = False


def compute_actions(
    pod: Pod,
    runtime: PodRuntime,
    verdicts: Verdicts,
    now: float,
    maximum_backoff: float,
    restarting: AbstractSet[str] = frozenset(),
) -> PodActions:
    """The next actions. `now` in seconds since 1970; `maximum_backoff` in seconds; `restarting`: ids of containers that
    were stopped in order to be started anew."""
    sandbox, replace, attempt = choose_sandbox(pod, runtime)
    if replace:
        if runtime.sandboxes and not _worth_a_sandbox(pod, runtime):
            return PodActions(kill_pod=True, done=True, initialized=_has_run(pod, runtime))
        starts = _first_init(pod, runtime) or _fresh(pod, runtime)
        kill = bool(runtime.sandboxes or alive(runtime))
        return PodActions(kill_pod=kill, create_sandbox=True, attempt=attempt, start=starts)
    here = [ran for ran in runtime.containers if sandbox is not None and ran.sandbox_id == sandbox.id]
    return _Plan(pod, runtime, here, verdicts, now, maximum_backoff, restarting).actions(attempt)


def actions_of(state: PodState, now: float, maximum_backoff: float) -> PodActions:
    """The next actions for a pod that is admitted, or about to be."""
    pod, runtime = state.wanted.pod, state.runtime
    if pod is None or runtime is None:
        return PodActions()
    return compute_actions(pod, runtime, state.verdicts, now, maximum_backoff, state.restarting)


def choose_sandbox(pod: Pod, runtime: PodRuntime) -> tuple[Sandbox | None, bool, int]:
    """(the sandbox to use, whether a new one is needed, its attempt)."""
    if not runtime.sandboxes:
        return None, True, 0
    newest = runtime.sandboxes[0]
    attempt = newest.attempt + 1
    ready = [sandbox for sandbox in runtime.sandboxes if sandbox.ready]
    if len(ready) > 1 or not newest.ready or newest.host_network != pod.spec.hostNetwork:
        return newest, True, attempt
    if not pod.spec.hostNetwork and not newest.ips:
        return newest, True, attempt
    return newest, False, newest.attempt


def _worth_a_sandbox(pod: Pod, runtime: PodRuntime) -> bool:
    """Whether anything would run in a new sandbox, now that the old one is gone."""
    if not runtime.containers:
        return True
    if any(_failed_for_good(pod, container, runtime) for container in pod.spec.initContainers):
        return False
    return any(_runs_again(pod, container, runtime) for container in pod.spec.containers)


def _failed_for_good(pod: Pod, container: Container, runtime: PodRuntime) -> bool:
    """Whether this init container has ended the pod."""
    last = runtime.newest(container.name)
    if last is None or last.state is not ContainerState.EXITED or last.exit_code == 0:
        return False
    return not may_restart(pod, container, last.exit_code, init=True)


def _runs_again(pod: Pod, container: Container, runtime: PodRuntime) -> bool:
    """Whether this container would run in a new sandbox. One that never ended is lost with the old sandbox, and runs
    again unless its policy is Never."""
    last = runtime.newest(container.name)
    if last is None or last.state is not ContainerState.EXITED:
        return (container.restartPolicy or pod.spec.restartPolicy) != "Never" or bool(container.restartPolicyRules)
    return may_restart(pod, container, last.exit_code, init=False)


def _has_run(pod: Pod, runtime: PodRuntime) -> bool:
    return any(runtime.newest(container.name) is not None for container in pod.spec.containers)


def _first_init(pod: Pod, runtime: PodRuntime) -> list[Start]:
    return [_next(container, runtime) for container in pod.spec.initContainers[:1]]


def _next(container: Container, runtime: PodRuntime) -> Start:
    """The next instance: counting goes on over sandboxes."""
    last = runtime.newest(container.name)
    if last is None:
        return Start(container, 0)
    consecutive = next_consecutive_restarts(last, mended=_is_mended(container, last))
    return Start(container, last.restart_count + 1, consecutive)


def _is_mended(container: Container, last: Ran) -> bool:
    """Whether image or resources are others than the last instance had: its crashes say nothing of the next one."""
    made_with = allocation.made_with(last)
    return _has_other_image(container, last) or (
        made_with is not None and bool(allocation.resized(made_with, container.resources))
    )


def _has_other_image(container: Container, last: Ran) -> bool:
    theirs = last.annotations.get(HASH, "")
    return bool(theirs) and theirs != container_hash(container)


def _fresh(pod: Pod, runtime: PodRuntime) -> list[Start]:
    """What starts in a new sandbox of a pod without init containers."""
    starts = []
    for container in pod.spec.containers:
        last = runtime.newest(container.name)
        ended = last is not None and last.state is ContainerState.EXITED
        if last is None or not ended or may_restart(pod, container, last.exit_code, init=False):
            starts.append(_next(container, runtime))
    return starts


class _Plan:
    """One computation over the containers of the sandbox that is in use."""

    def __init__(
        self,
        pod: Pod,
        runtime: PodRuntime,
        here: list[Ran],
        verdicts: Verdicts,
        now: float,
        maximum_backoff: float,
        restarting: AbstractSet[str],
    ) -> None:
        self.pod, self.runtime, self.here, self.verdicts = pod, runtime, here, verdicts
        self.now, self.maximum, self.restarting = now, maximum_backoff, restarting
        self.kill: list[Kill] = []
        self.resume: list[Ran] = []
        self.start: list[Start] = []
        self.backoff: list[Backoff] = []

    def newest(self, name: str) -> Ran | None:
        """The newest instance in this sandbox."""
        return next((ran for ran in self.here if ran.name == name), None)

    def actions(self, attempt: int) -> PodActions:
        sources = self._restarting_all()
        if sources:
            return self._restart_all(sources, attempt)
        self._duplicates()
        self._ephemeral()
        failed, initialized = self._init()
        if failed:
            return PodActions(kill_pod=True, done=True, attempt=attempt)
        done = False
        if initialized:
            kept = [self._regular(container) for container in self.pod.spec.containers]
            ends = not any(kept)
            if ends:
                self.start, self.resume, self.backoff = [], [], []
            done = ends and not self.kill  # an unhealthy one is ended first, with the grace of its probe
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

    def _duplicates(self) -> None:
        """Stop a container that runs beside a later instance: a runtime that died may have started it unnoticed, or
        have lost sight of it for a while."""
        for ran in self.runtime.containers:
            later = self.runtime.newest(ran.name)
            if ran is not later and ran.state is ContainerState.RUNNING:
                self.kill.append(Kill(ran, f"Container {ran.name} runs twice, its earlier instance is ended"))

    # -- restart of all -----------------------------------------------------------------------------------------------
    def _restarting_all(self) -> list[Ran]:
        """The containers whose exit asks for it (KEP-5532)."""
        found = []
        for container in (*self.pod.spec.initContainers, *self.pod.spec.containers):
            last = self.newest(container.name)
            ended = last is not None and last.state is ContainerState.EXITED
            if last is not None and ended and rule_for(container, last.exit_code) == RESTART_ALL:
                found.append(last)
        return found

    def _restart_all(self, sources: list[Ran], attempt: int) -> PodActions:
        """Now, or after the backoff of the container that keeps asking for it."""
        last = max(sources, key=lambda ran: start_not_before(ran, self.maximum, self.now))
        until = start_not_before(last, self.maximum, self.now)
        if until > self.now:
            return PodActions(attempt=attempt, backoff=[Backoff(last.name, until, last)])
        return PodActions(attempt=attempt, restart_all=sources)

    # -- init containers and sidecars -------------------------------------------------------------------------------
    def _init(self) -> tuple[bool, bool]:
        """(an init container failed for good, all have done their part). Decides what to start of them."""
        started = any(self.newest(container.name) is not None for container in self.pod.spec.containers)
        for container in self.pod.spec.initContainers:
            last = self.newest(container.name)
            if is_sidecar(container):
                up = self._sidecar(container, last)
                if not (up or started or self._later_init_ran(container)):
                    return False, False  # one that has started before holds up nothing while it restarts
            elif started:
                continue  # it has run; its remains may have been collected
            elif last is None:
                # a later one has run: this one was collected
                if not self._later_init_ran(container):
                    self._start(container)
                    return False, False
            elif last.state is ContainerState.EXITED and last.exit_code == 0:
                continue
            elif last.state is ContainerState.EXITED:
                if not self._again(container, last, init=True):
                    return True, False
                self._start(container)
                return False, False
            else:
                self._not_running(last) or self._unhealthy(last)
                return False, False
        return False, True

    def _later_init_ran(self, container: Container) -> bool:
        names = [one.name for one in self.pod.spec.initContainers]
        later = names[names.index(container.name) + 1 :]
        return any(self.newest(name) is not None for name in later)

    def _sidecar(self, container: Container, last: Ran | None) -> bool:
        """Keep a sidecar running; whether it is started, so that the next may go on."""
        if last is None or last.state is ContainerState.EXITED:
            self._start(container)
            return False
        if last.state is not ContainerState.RUNNING:
            self._not_running(last)
            return False
        if self._changed(container, last) or self._unhealthy(last):
            return False
        return container.startupProbe is None or last.id in self.verdicts.started

    # -- regular containers -----------------------------------------------------------------------------------------
    def _regular(self, container: Container) -> bool:
        """Decide for one regular container; whether it runs, will run, or may run again."""
        last = self.newest(container.name)
        if last is None:
            older = self.runtime.newest(container.name)
            ended = older is not None and older.state is ContainerState.EXITED
            if older is None or not ended or may_restart(self.pod, container, older.exit_code, init=False):
                self._start(container)
                return True
            return False
        if last.state is ContainerState.EXITED:
            if not self._again(container, last, init=False):
                return False
            self._start(container)
            return True
        if last.state is not ContainerState.RUNNING:
            self._not_running(last)
            return True
        return self._running(container, last)

    def _running(self, container: Container, last: Ran) -> bool:
        """A running container is kept, unless it was changed or is unhealthy."""
        if self._changed(container, last):
            return True
        if self._unhealthy(last):
            return may_restart(self.pod, container, KILLED, init=False)
        return True

    def _ephemeral(self) -> None:
        for container in self.pod.spec.ephemeralContainers:
            if self.runtime.newest(container.name) is None:
                self.start.append(Start(container, 0))
            elif (last := self.newest(container.name)) is not None and last.state is ContainerState.CREATED:
                self.resume.append(last)

    # -- shared -----------------------------------------------------------------------------------------------------
    def _again(self, container: Container, last: Ran, *, init: bool) -> bool:
        """Whether one that has ended is started anew."""
        return last.id in self.restarting or may_restart(self.pod, container, last.exit_code, init=init)

    def _changed(self, container: Container, last: Ran) -> bool:
        if not _has_other_image(container, last):
            return False
        self.kill.append(Kill(last, f"Container {container.name} definition changed, will be restarted", restart=True))
        return True

    def _unhealthy(self, last: Ran) -> bool:
        kind = self.verdicts.unhealthy.get(last.id)
        if kind is None:
            return False
        container = find_container(self.pod, last.name)
        again = container is not None and may_restart(self.pod, container, KILLED, init=False)
        text = f"Container {last.name} failed {kind} probe" + (", will be restarted" if again else "")
        if kind == POST_START:
            self.kill.append(Kill(last, "FailedPostStartHook", kind))
        else:
            self.kill.append(Kill(last, text, kind, restart=again))
        return True

    def _not_running(self, last: Ran) -> bool:
        """Created but never started: started now. In a state that the runtime does not know: stopped, then created
        anew."""
        if last.state is ContainerState.RUNNING:
            return False
        if last.state is ContainerState.CREATED:
            self.resume.append(last)
            return True
        text = f"Container {last.name} is in state {last.state}, try killing it before restart"
        self.kill.append(Kill(last, text, restart=True))
        return True

    def _start(self, container: Container) -> None:
        """Start it now, or say until when it waits."""
        last = self.runtime.newest(container.name)
        mended = last is not None and _is_mended(container, last)
        until = 0.0 if mended else start_not_before(last, self.maximum, self.now)
        if last is not None and until > self.now:
            self.backoff.append(Backoff(container.name, until, last))
        else:
            self.start.append(_next(container, self.runtime))


def earliest(backoffs: Iterable[Backoff]) -> float:
    """When the first of them may start, seconds since 1970; 0 when none waits."""
    return min((backoff.until for backoff in backoffs), default=0.0)
