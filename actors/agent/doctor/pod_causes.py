"""Why a pod does not run, from its status and its events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from actors.agent.inspection import event_rows
from actors.agent.inspection.event_rows import container_of
from actors.agent.inspection.node_pods import full_name
from actors.agent.inspection.pod_rows import seconds, state
from actors.api_clients.event_client.messages import RecentEvent

from .pod_remedies import remedy_for

Object = dict[str, Any]
MOST: Final = 300
"""The most characters of a reason that are shown. The end is kept, because runtimes put the cause there."""
_NO_CAUSE: Final = frozenset({"BackOff", "MissingClusterDNS", "Killing"})
"""Reasons of warnings that report a state without its cause."""
_SYNC: Final = "FailedSync"
"""The warning that the worker's work on the pod failed: most times another one says it better."""
_CRASHES: Final = frozenset({"CrashLoopBackOff", "Error", "Completed"})
_NOT_STARTED: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Ends of containers whose message is the runtime's; there is no log."""
_OF_PROGRAMS: Final = frozenset({"Unhealthy", "FailedPostStartHook", "FailedPreStopHook", "PostStartHookError"})
"""Reasons whose message is the output of a program in the pod, or the error of a failed connection to it."""
_NOT_SAID: Final = frozenset({"ContainerCreating", "PodInitializing", ""})


class Cause(msgspec.Struct, frozen=True):
    text: str
    """'' if no cause is known."""
    remedy: str


class _FoundCause(msgspec.Struct, frozen=True):
    """An explanation of a pod's state."""

    text: str
    sign: str
    """What the agent or the runtime says of it, for a remedy: nothing that a program of the pod has written."""
    log: str = ""
    """The options of `supervise logs` for what the program has written; '': that says no more."""
    hook: bool = False
    """The remedy of a hook that failed: correct it; its output is in the agent's log."""


def cause(pod: Object, events: Sequence[RecentEvent]) -> Cause:
    """Why the pod does not run, and what mends it. `events`: the recent events of the whole node."""
    metadata = pod["metadata"]
    own = event_rows.of_object(events, "Pod", metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""))
    found = next(_causes(pod, own) if state(pod) != "Terminating" else _warnings(own), _FoundCause("", state(pod)))
    name, images = full_name(pod), [one.get("image", "") for one in _containers(pod)]
    image = next((one for one in images if one in found.text), "") or ", ".join(dict.fromkeys(images))
    remedy = remedy_for(found.sign, image, metadata.get("namespace", ""))
    if "is not reached from this node" in remedy and _always_pulled(pod, image):
        remedy += "; if the image is on the node: imagePullPolicy: IfNotPresent"
    if found.hook:
        remedy = "correct lifecycle.postStart in the pod; what it said: supervise logs pod_workers"
    if not remedy and found.log:
        remedy = f"supervise logs {name} {found.log}"
    return Cause(shortened(found.text), remedy or f"supervise describe pod {name}")


def _causes(pod: Object, events: Sequence[RecentEvent]) -> Iterator[_FoundCause]:
    """Texts that explain the state, the best first."""
    status = pod.get("status", {})
    own = [_of_pod(status)] if status.get("message") else []
    if status.get("phase") == "Failed" and status.get("reason"):
        yield from own  # the node has ended it (deadline, eviction, shutdown), and so its containers
    for one in _statuses(status):
        name, now, last = one["name"], one.get("state") or {}, last_end(one)
        waiting, ended = now.get("waiting") or {}, now.get("terminated")
        reason = waiting.get("reason", "")
        if reason in _CRASHES and last:
            yield _end_of(name, last, events, " --previous")
        elif waiting.get("message") and reason not in _NOT_SAID:
            yield _FoundCause(f"{name}: {waiting['message']}", _sign(reason, waiting["message"]))
        elif ended and ended.get("exitCode"):
            yield _end_of(name, ended, events)
    yield from own
    if all(one.get("ready") for one in status.get("containerStatuses") or []):
        for one in running_statuses(status):
            if (last := last_end(one)) and last.get("exitCode"):
                yield _end_of(one["name"], last, events, " --previous")
    yield from _warnings(events)


def _of_pod(status: Object) -> _FoundCause:
    text = f"{status.get('reason', '')}: {status['message']}".lstrip(": ")
    return _FoundCause(text, text)


def _end_of(name: str, ended: Object, events: Sequence[RecentEvent], previous: str = "") -> _FoundCause:
    """The end of a container. `previous`: the option for its log, if another one has followed or will."""
    text = f"{name} {_end_text(ended)}"
    if _hook_failed(name, ended, events):
        return _FoundCause(f"{text}: its postStart hook failed", "FailedPostStartHook", hook=True)
    if probe := _probe_that_killed(name, ended, events):
        return _FoundCause(f"{text}: {probe}", "Unhealthy")
    reason = ended.get("reason", "")
    if reason in _NOT_STARTED:
        return _FoundCause(text, _sign(reason, ended.get("message", "")))
    return _FoundCause(text, reason, f"-c {name}{previous}")


def _hook_failed(name: str, ended: Object, events: Sequence[RecentEvent]) -> bool:
    """Whether the agent ended the container because its postStart hook had failed."""
    own = [event for event in events if container_of(event.field) == name and event.reason == "FailedPostStartHook"]
    started_at = ended.get("startedAt")
    return any(seconds(started_at) <= event.last for event in own) if started_at else False


def _probe_that_killed(name: str, ended: Object, events: Sequence[RecentEvent]) -> str:
    """The failure of the liveness or startup probe for which the agent ended the container; '' if it did not.

    `startedAt` is in whole seconds: what happened in the first one may have ended the container before this one."""
    started_at = ended.get("startedAt")
    own = [event for event in events if container_of(event.field) == name]
    killed = [event for event in own if event.reason == "Killing" and "probe, will be restarted" in event.message]
    if not started_at or not any(event.last >= seconds(started_at) + 1 for event in killed):
        return ""
    failures = [event for event in own if event.reason == "Unhealthy" and not event.message.startswith("Readiness")]
    newest = max(failures, key=lambda event: event.last, default=None)
    return " ".join(newest.message.split()) if newest else "its probe failed"


def _warnings(events: Sequence[RecentEvent]) -> Iterator[_FoundCause]:
    """The newest event that gives a cause, if one does."""
    warnings = [event for event in events if event.type == "Warning" and event.reason not in _NO_CAUSE]
    if warnings:
        newest = max(warnings, key=lambda event: (event.reason != _SYNC, event.last))
        message = " ".join(newest.message.split())
        yield _FoundCause(f"{newest.reason}: {message}", _sign(newest.reason, message))


def _sign(reason: str, message: str) -> str:
    return reason if reason in _OF_PROGRAMS else f"{reason}: {message}"


def last_end(container: Object) -> Object:
    """How the container before this one ended, of a container status; {} for none."""
    found: Object = (container.get("lastState") or {}).get("terminated") or {}
    return found


def running_statuses(status: Object) -> list[Object]:
    """The statuses of the containers and sidecars that run. An init container that has completed has no place in it:
    its failures before that are over."""
    return [one for one in _statuses(status) if "running" in (one.get("state") or {})]


def _statuses(status: Object) -> list[Object]:
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _end_text(ended: Object) -> str:
    why = ": ".join(part for part in (ended.get("reason"), ended.get("message")) if part and part != "Error")
    return f"ended with exit code {ended.get('exitCode')}{f', {why}' if why else ''}"


def _containers(pod: Object) -> list[Object]:
    spec = pod.get("spec", {})
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _always_pulled(pod: Object, image: str) -> bool:
    """Whether the registry is asked for the image even if the node has it."""
    return any(one.get("image") == image and one.get("imagePullPolicy") == "Always" for one in _containers(pod))


def shortened(text: str) -> str:
    """At most MOST characters of the text: its beginning and its end."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST else f"{flat[:80]} ... {flat[-(MOST - 85) :]}"
