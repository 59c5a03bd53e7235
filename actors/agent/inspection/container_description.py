"""Describes a container for operators, as pairs of name and text. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from . import pod_rows

Object = dict[str, Any]
_PROBES: Final = (("Startup", "startupProbe"), ("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"))


def described(container: Object, status: Object, now: float) -> Iterator[tuple[str, str]]:
    """Image, command, ports, state, probes, variables and mounts. `now`: seconds since 1970."""
    yield "Image", container.get("image", "-")
    for name in ("command", "args"):
        if container.get(name):
            yield name.capitalize(), _words(container[name])
    if ports := container.get("ports"):
        yield "Ports", ", ".join(map(_port, ports))
    yield "State", _state(status.get("state") or {}, now) or "waiting: not begun yet"
    if last := _state(status.get("lastState") or {}, now):
        yield "Last state", last
    known = "ready" in status or not status
    yield "Ready", ("yes" if status.get("ready") else "no") if known else "not known: the status manager knows it"
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
    if variables := [_variable(one) for one in container.get("env") or []]:
        yield "Environment", ", ".join(variables)
    if sources := [_variables_of(one) for one in container.get("envFrom") or []]:
        yield "Variables of", ", ".join(sources)
    if mounts := container.get("volumeMounts"):
        yield "Mounts", ", ".join(_mount(mount) for mount in mounts)


def _words(words: Sequence[str]) -> str:
    """As a shell takes them; a script of many lines as it is, and then each word in lines of its own."""
    if any("\n" in word.rstrip() for word in words):
        return "\n".join(word.rstrip() for word in words)
    return shlex.join(words)


def _port(port: Object) -> str:
    """`8080/TCP (http, host port 80)`."""
    host = f"{port['hostIP']}:{port['hostPort']}" if port.get("hostIP") else port.get("hostPort")
    more = [*([port["name"]] if port.get("name") else []), *([f"host port {host}"] if port.get("hostPort") else [])]
    return f"{port.get('containerPort')}/{port.get('protocol', 'TCP')}" + (f" ({', '.join(more)})" if more else "")


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
        what = f"exec [{shlex.join((run or {}).get('command') or [])}]"
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
            since = details.get("startedAt")
            return f"running for {pod_rows.age(since, now)}" if since else "running"
        why = ": ".join(part for part in (details.get("reason"), details.get("message")) if part)
        if kind == "terminated":
            code = f"exit code {details.get('exitCode')}"
            if details.get("signal"):
                code += f", signal {details['signal']}"
            ended = details.get("finishedAt")  # that of a container which the runtime has lost is not known
            return f"terminated{f' {pod_rows.age(ended, now)} ago' if ended else ''}, {code}" + (
                f": {why}" if why else ""
            )
        return f"{kind}: {why}" if why else str(kind)
    return ""


def _mount(mount: Object) -> str:
    mode = " (read-only)" if mount.get("readOnly") else ""
    return f"{mount.get('mountPath')} from {mount.get('name')}{mode}"
