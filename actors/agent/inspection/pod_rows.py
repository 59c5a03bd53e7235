"""A pod in one line, with the words that `kubectl get pods` has for its state. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from actors.shared.kube.names import CONFIG_SOURCE
from actors.shared.kube.pods import TERMINAL_PHASES

HEADER: Final = ("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE")
SPARE: Final = ("AGE", "RESTARTS", "READY", "NAMESPACE")
"""Columns that are left out on a narrow terminal, in this order."""
WIDE: Final = ("IP", "SOURCE", "WORKER", "UID")
_MINUTE, _HOUR, _DAY, _YEAR_DAYS = 60, 3600, 86400, 365

Object = dict[str, Any]


def row(pod: Object, now: float, worker: str = "", *, removed: bool = False) -> tuple[str, ...]:
    """The cells of HEADER and WIDE. `now`: seconds since 1970."""
    metadata, status = pod.get("metadata", {}), pod.get("status", {})
    ready, total = readiness(pod)
    known = all("ready" in one for one in _counted(pod))
    return (
        metadata.get("namespace", ""),
        metadata.get("name", ""),
        f"{ready if known else '?'}/{total}",
        state(pod, removed=removed),
        _restarts(pod, now),
        age(status.get("startTime") or metadata.get("creationTimestamp"), now),
        status.get("podIP") or "-",
        source(pod),
        worker or "-",
        metadata.get("uid", ""),
    )


def source(pod: Object) -> str:
    """The source of the pod: file, http or api."""
    annotations = pod.get("metadata", {}).get("annotations") or {}
    return str(annotations.get(CONFIG_SOURCE, "api"))


def readiness(pod: Object) -> tuple[int, int]:
    """(ready, all) of the containers, including sidecars."""
    total = len(_list(pod.get("spec", {}), "containers")) + len(_sidecars(pod))
    return sum(bool(one.get("ready")) for one in _counted(pod)), total


def _counted(pod: Object) -> list[Object]:
    """The statuses of containers and sidecars. One that only the runtime knows has no `ready` while it runs."""
    status, sidecars = pod.get("status", {}), _sidecars(pod)
    found = [one for one in _list(status, "initContainerStatuses") if one["name"] in sidecars]
    return [*found, *_list(status, "containerStatuses")]


def state(pod: Object, *, removed: bool = False) -> str:
    """Running, CrashLoopBackOff, Init:0/1, Terminating, ...: the STATUS of kubectl. `removed`: no source has the pod
    any more; a static one has no deletionTimestamp.
    """
    metadata, status = pod.get("metadata", {}), pod.get("status", {})
    phase = status.get("phase", "Pending")
    found = _of_init_containers(pod)
    if not found:
        found = _of_containers(status, status.get("reason") or phase)
    if (removed or metadata.get("deletionTimestamp")) and phase not in TERMINAL_PHASES:
        return "Terminating"
    return found


def _of_init_containers(pod: Object) -> str:
    """`Init:...` while an init container is not done; '' afterwards."""
    statuses, sidecars = _list(pod.get("status", {}), "initContainerStatuses"), _sidecars(pod)
    wanted = len(_list(pod.get("spec", {}), "initContainers"))
    for at, one in enumerate(statuses):
        now = one.get("state") or {}
        ended, waiting = now.get("terminated"), now.get("waiting")
        if one["name"] in sidecars:
            if one.get("started"):
                continue
        elif ended and ended.get("exitCode") == 0:
            continue
        if ended:
            return f"Init:{_end(ended)}"
        if waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{at}/{wanted}"
    return ""


def _of_containers(status: Object, otherwise: str) -> str:
    """The reason of the first container with a problem, else `otherwise`."""
    found, running = otherwise, False
    for one in reversed(_list(status, "containerStatuses")):
        now = one.get("state") or {}
        if (now.get("waiting") or {}).get("reason"):
            found = now["waiting"]["reason"]
        elif now.get("terminated"):
            found = _end(now["terminated"])
        elif now.get("running") and one.get("ready", True):
            running = True
    if found == "Completed" and running:
        return "Running" if condition(status, "Ready") else "NotReady"
    return str(found)


def condition(status: Object, kind: str) -> bool:
    """Whether the condition is True."""
    return any(one.get("type") == kind and one.get("status") == "True" for one in _list(status, "conditions"))


def _end(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode')}"


def _restarts(pod: Object, now: float) -> str:
    """How many, and how long ago the last one was: of init containers while these are not done, as kubectl's."""
    status, sidecars = pod.get("status", {}), _sidecars(pod)
    statuses = [*_list(status, "initContainerStatuses")]
    if not _of_init_containers(pod):
        statuses = [one for one in statuses if one["name"] in sidecars] + [*_list(status, "containerStatuses")]
    times = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in statuses]
    last = max((time for time in times if time), default=None)
    total = sum(int(one.get("restartCount") or 0) for one in statuses)
    return f"{total} ({age(last, now)} ago)" if total and last else str(total)


def age(time: str | None, now: float) -> str:
    """How long ago an API time is, `-` for none."""
    if not time:
        return "-"
    return whole_seconds(now - seconds(time))


def whole_seconds(length: float) -> str:
    """As kubectl shows ages: `90s`, `2m5s`, `47m`, `3h5m`, `20h`, `3d4h`, `90d`, `2y30d`, the less exact the longer
    (HumanDuration of apimachinery's util/duration). Never below zero: another clock may have written the time."""
    total = max(0, int(length))
    minutes, hours, days = total // _MINUTE, total // _HOUR, total // _DAY
    if minutes < 2:
        return f"{total}s"
    if hours < 3:
        return _two(minutes, "m", total % _MINUTE if minutes < 10 else 0, "s")
    if hours < 48:
        return _two(hours, "h", minutes % 60 if hours < 8 else 0, "m")
    if days < 2 * _YEAR_DAYS:
        return _two(days, "d", hours % 24 if days < 8 else 0, "h")
    years = days // _YEAR_DAYS
    return _two(years, "y", days % _YEAR_DAYS if years < 8 else 0, "d")


def _two(number: int, unit: str, rest: int, smaller: str) -> str:
    return f"{number}{unit}{rest}{smaller}" if rest else f"{number}{unit}"


def seconds(time: str) -> float:
    """An RFC 3339 time as seconds since 1970."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def _sidecars(pod: Object) -> set[str]:
    containers: Iterable[Object] = _list(pod.get("spec", {}), "initContainers")
    return {one["name"] for one in containers if one.get("restartPolicy") == "Always"}


def _list(thing: Object, name: str) -> Sequence[Object]:
    return thing.get(name) or []


def labels(pod: Object) -> str:
    """The labels as kubectl shows them in a column."""
    found = pod["metadata"].get("labels") or {}
    return ",".join(f"{name}={value}" for name, value in sorted(found.items())) or "<none>"
