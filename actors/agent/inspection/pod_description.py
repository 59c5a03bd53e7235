"""Describes one pod for operators, as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from actors.api_clients.event_client.messages import RecentEvent
from supervision.cli.text import table, wrapped

from . import event_rows, pod_rows
from .container_description import Object, described
from .node_pods import full_name
from .pod_waits import NOTHING, PodWaits
from .text_layout import indent, indented_table, pairs

_KINDS: Final = (
    ("Init containers", "initContainers", "initContainerStatuses"),
    ("Containers", "containers", "containerStatuses"),
    ("Ephemeral containers", "ephemeralContainers", "ephemeralContainerStatuses"),
)
_EVENT_HEADER: Final = ("LAST SEEN", "TYPE", "REASON", "CONTAINER", "MESSAGE")


class Description(msgspec.Struct, frozen=True):
    """The description of one pod."""

    pod: Object
    worker: str = ""
    """Name of the shard that drives it."""
    waits: PodWaits = NOTHING
    events: list[RecentEvent] | None = None
    """None: the event client did not answer."""
    problems: list[str] = []
    events_since: float = 0.0
    """When the event client started, seconds since 1970: it has no older ones; 0: these are the log's."""
    removed: bool = False
    """No source has the pod: it terminates."""
    wide: bool = False
    """With annotations."""


def lines(found: Description, now: float, columns: int = 0) -> list[str]:
    """`now`: seconds since 1970. `columns`: the width of the terminal; 0: no limit."""
    text = [line for problem in found.problems for line in wrapped(f"warning: {problem}", columns, "    ", "")]
    text += pairs(_head(found, now), columns)
    for title, field, statuses in _KINDS:
        text += _containers(title, found, field, statuses, now, columns)
    text += _conditions(found.pod.get("status", {}), now, columns)
    text += _volumes(found.pod.get("spec", {}))
    return text + _events(found, now, columns)


def _head(found: Description, now: float) -> Iterator[tuple[str, str]]:
    pod, report = found.pod, found.waits.report
    metadata, spec, status = pod["metadata"], pod.get("spec", {}), pod.get("status", {})
    yield "Pod", full_name(pod)
    yield "UID", metadata.get("uid", "-")
    state = pod_rows.state(pod, removed=found.removed)
    yield "Status", state
    if status.get("phase") and status["phase"] != state:
        yield "Phase", status["phase"]
    if status.get("reason") or status.get("message"):
        yield "Why", ": ".join(part for part in (status.get("reason"), status.get("message")) if part)
    yield "Source", pod_rows.source(pod)
    phase = f", {report.worker_phase}" if report is not None and report.worker_phase else ""
    yield "Worker", f"{found.worker or '-'}{phase}"
    if report is not None and report.termination_step:
        yield "Ending", f"waits for its {report.termination_step}"
    for text in found.waits.texts(now):
        yield "Waits for", text
    if report is not None and report.last_error:
        yield "Last error", report.last_error
    yield "Started", _time(status.get("startTime"), now)
    if metadata.get("deletionTimestamp"):
        yield "Deleted", _time(metadata["deletionTimestamp"], now)
    yield "IP", ", ".join(one["ip"] for one in status.get("podIPs") or []) or "-"
    yield "Priority", f"{spec.get('priority', 0)} {spec.get('priorityClassName', '')}".rstrip()
    yield "QoS class", status.get("qosClass") or "-"
    if spec.get("runtimeClassName"):
        yield "Runtime class", spec["runtimeClassName"]
    labels = metadata.get("labels") or {}
    yield "Labels", ", ".join(f"{name}={value}" for name, value in labels.items()) or "-"
    if found.wide:
        annotations = metadata.get("annotations") or {}
        yield "Annotations", ", ".join(f"{name}={value}" for name, value in annotations.items()) or "-"


def _containers(title: str, found: Description, field: str, statuses: str, now: float, columns: int) -> list[str]:
    pod = found.pod
    containers: Sequence[Object] = pod.get("spec", {}).get(field) or []
    if not containers:
        return []
    known = {one["name"]: one for one in pod.get("status", {}).get(statuses) or []}
    text = [f"{title}:"]
    for container in containers:
        text.append(f"  {container['name']}:")
        text += pairs(described(container, known.get(container["name"], {}), now), columns, "    ")
    return text


def _conditions(status: Object, now: float, columns: int) -> list[str]:
    conditions = status.get("conditions") or []
    if not conditions:
        return []
    rows = [
        (
            one["type"],
            one["status"],
            pod_rows.age(one.get("lastTransitionTime"), now),
            ": ".join(part for part in (one.get("reason"), one.get("message")) if part) or "-",
        )
        for one in conditions
    ]
    return ["Conditions:", *indented_table(("TYPE", "STATUS", "SINCE", "WHY"), rows, columns)]


def _volumes(spec: Object) -> list[str]:
    rows = []
    for volume in spec.get("volumes") or []:
        kind, details = next(((key, value) for key, value in volume.items() if key != "name"), ("emptyDir", {}))
        rows.append((volume["name"], kind, _volume(details or {})))
    return ["Volumes:", *indent(table(("NAME", "TYPE", "OF"), rows))] if rows else []


def _volume(details: Object) -> str:
    for key in ("claimName", "secretName", "name", "path", "driver", "server", "medium"):
        if details.get(key):
            return str(details[key])
    return "-"


def _events(found: Description, now: float, columns: int) -> list[str]:
    if found.events is None:
        return ["Events: not known"]
    rows = [
        (
            event_rows.age_text(event, now),
            event.type,
            event.reason,
            event_rows.container_of(event.field) or "-",
            " ".join(event.message.split()),
        )
        for event in found.events
    ]
    if not rows:
        return [f"Events: {event_rows.none_since(found.events_since, now)}"]
    return ["Events:", *indented_table(_EVENT_HEADER, rows, columns)]


def _time(time: str | None, now: float) -> str:
    return f"{time} ({pod_rows.age(time, now)} ago)" if time else "-"
