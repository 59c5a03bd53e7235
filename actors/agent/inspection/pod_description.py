"""Describes one pod for operators, as lines. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from actors.api_clients.messages import RecentEvent
from actors.status_manager.messages import PodStatusFound
from supervision.cli.text import table, table_with_texts

from . import event_rows, pod_rows
from .node_pods import full_name

Object = dict[str, Any]
_KINDS: Final = (
    ("Init containers", "initContainers", "initContainerStatuses"),
    ("Containers", "containers", "containerStatuses"),
    ("Ephemeral containers", "ephemeralContainers", "ephemeralContainerStatuses"),
)
_EVENT_HEADER: Final = ("LAST SEEN", "TYPE", "REASON", "CONTAINER", "MESSAGE")
_PROBES: Final = (("Startup", "startupProbe"), ("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"))


class Description(msgspec.Struct, frozen=True):
    """The description of one pod."""

    pod: Object
    worker: str = ""
    """Name of the shard that drives it."""
    report: PodStatusFound | None = None
    events: list[RecentEvent] | None = None
    """None: the event client did not answer."""
    problems: list[str] = []
    events_since: float = 0.0
    """When the event client started, seconds since 1970: it has no older ones."""
    removed: bool = False
    """No source has the pod: it terminates."""
    wide: bool = False
    """With annotations, and commands, ports and variables of containers."""


def lines(found: Description, now: float, columns: int = 0) -> list[str]:
    """`now`: seconds since 1970. `columns`: the width of the terminal; 0: no limit."""
    text = [f"warning: {problem}" for problem in found.problems]
    text += _pairs(_head(found, now))
    for title, field, statuses in _KINDS:
        text += _containers(title, found, field, statuses, now)
    text += _conditions(found.pod.get("status", {}), now, columns)
    text += _volumes(found.pod.get("spec", {}))
    return text + _events(found, now, columns)


def _head(found: Description, now: float) -> Iterator[tuple[str, str]]:
    pod, report = found.pod, found.report
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
    yield "Worker", found.worker + (f", {report.worker_phase}" if report is not None and report.worker_phase else "")
    if report is not None and report.termination_step:
        yield "Ending", f"waits for its {report.termination_step}"
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


def _containers(title: str, found: Description, field: str, statuses: str, now: float) -> list[str]:
    pod = found.pod
    containers: Sequence[Object] = pod.get("spec", {}).get(field) or []
    if not containers:
        return []
    known = {one["name"]: one for one in pod.get("status", {}).get(statuses) or []}
    text = [f"{title}:"]
    for container in containers:
        text.append(f"  {container['name']}:")
        pairs = [*_container(container, known.get(container["name"], {}), now)]
        text += _pairs([*pairs, *_of_spec(container)] if found.wide else pairs, "    ")
    return text


def _container(container: Object, status: Object, now: float) -> Iterator[tuple[str, str]]:
    yield "Image", container.get("image", "-")
    yield "State", _state(status.get("state") or {}, now) or "waiting: not begun yet"
    if last := _state(status.get("lastState") or {}, now):
        yield "Last state", last
    yield "Ready", "yes" if status.get("ready") else "no"
    yield "Restarts", str(status.get("restartCount", 0))
    if status.get("containerID"):
        yield "ID", status["containerID"]
    resources = container.get("resources") or {}
    for name in ("requests", "limits"):
        if resources.get(name):
            yield name.capitalize(), ", ".join(f"{key} {value}" for key, value in resources[name].items())
    for name, key in _PROBES:
        if container.get(key):
            yield name, probe(container[key])
    mounts = container.get("volumeMounts") or []
    if mounts:
        yield "Mounts", ", ".join(_mount(mount) for mount in mounts)


def _of_spec(container: Object) -> Iterator[tuple[str, str]]:
    if words := [*(container.get("command") or []), *(container.get("args") or [])]:
        yield "Command", shlex.join(words)
    if ports := container.get("ports"):
        yield "Ports", ", ".join(f"{port.get('containerPort')}/{port.get('protocol', 'TCP')}" for port in ports)
    if variables := [_variable(one) for one in container.get("env") or []]:
        yield "Environment", ", ".join(variables)
    if sources := [_variables_of(one) for one in container.get("envFrom") or []]:
        yield "Variables of", ", ".join(sources)


def _variable(variable: Object) -> str:
    source = next(iter((variable.get("valueFrom") or {}).items()), None)
    if source is None:
        return f"{variable.get('name')}={variable.get('value', '')}"
    kind, details = source
    place = " ".join(str(details[key]) for key in ("name", "key", "fieldPath", "resource") if details.get(key))
    return f"{variable.get('name')} from {kind.removesuffix('KeyRef').removesuffix('Ref')} {place}"


def _variables_of(source: Object) -> str:
    return ", ".join(
        f"{kind.removesuffix('Ref')} {details.get('name')}"
        for kind, details in source.items()
        if isinstance(details, dict)
    )


def probe(wanted: Object) -> str:
    """`http-get :8080/ready, delay 0s, timeout 1s, period 10s, success 1, failure 3`."""
    get, socket, grpc, run = (wanted.get(kind) for kind in ("httpGet", "tcpSocket", "grpc", "exec"))
    others = [kind for kind, action in wanted.items() if isinstance(action, dict)]
    if get:
        what = f"{get.get('scheme', 'HTTP').lower()}-get {get.get('host', '')}:{get.get('port')}{get.get('path', '/')}"
    elif socket:
        what = f"tcp-socket {socket.get('host', '')}:{socket.get('port')}"
    elif grpc:
        what = f"grpc :{grpc.get('port')} {grpc.get('service') or ''}".rstrip()
    elif run or not others:
        what = f"exec {(run or {}).get('command')}"
    else:
        what = " ".join([others[0], *(f"{name} {value}" for name, value in wanted[others[0]].items())])
    return (
        f"{what}, delay {wanted.get('initialDelaySeconds', 0)}s, timeout {wanted.get('timeoutSeconds', 1)}s, "
        f"period {wanted.get('periodSeconds', 10)}s, success {wanted.get('successThreshold', 1)}, "
        f"failure {wanted.get('failureThreshold', 3)}"
    )


def _state(state: Object, now: float) -> str:
    for kind, details in state.items():
        if details is None:
            continue
        if kind == "running":
            return f"running for {pod_rows.age(details.get('startedAt'), now)}"
        said = ": ".join(part for part in (details.get("reason"), details.get("message")) if part)
        if kind == "terminated":
            code = f"exit code {details.get('exitCode')}"
            if details.get("signal"):
                code += f", signal {details['signal']}"
            return f"terminated {pod_rows.age(details.get('finishedAt'), now)} ago, {code}" + (
                f": {said}" if said else ""
            )
        return f"{kind}: {said}" if said else str(kind)
    return ""


def _mount(mount: Object) -> str:
    mode = " (read-only)" if mount.get("readOnly") else ""
    return f"{mount.get('mountPath')} from {mount.get('name')}{mode}"


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
    return ["Conditions:", *_indented_table(("TYPE", "STATUS", "SINCE", "WHY"), rows, columns)]


def _volumes(spec: Object) -> list[str]:
    rows = []
    for volume in spec.get("volumes") or []:
        kind, details = next(((key, value) for key, value in volume.items() if key != "name"), ("emptyDir", {}))
        rows.append((volume["name"], kind, _volume(details or {})))
    return ["Volumes:", *_indent(table(("NAME", "TYPE", "OF"), rows))] if rows else []


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
    return ["Events:", *_indented_table(_EVENT_HEADER, rows, columns)]


def _time(time: str | None, now: float) -> str:
    return f"{time} ({pod_rows.age(time, now)} ago)" if time else "-"


def _pairs(pairs: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    found = list(pairs)
    width = max((len(name) for name, _ in found), default=0) + 2
    return [f"{indent}{f'{name}:':<{width}}{value}" for name, value in found]


def _indented_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    found = table_with_texts(header, rows, columns and columns - 2)
    return _indent(line for lines in found for line in lines)


def _indent(text: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in text]
