"""One row of the differential test: a pod, what happens to it, and what the kubelet documents of the outcome.

A row is data: steps (`ends`, `waits`, `deleted`, `fails`, ...) and expectations (`shows`, `said`, `asked`, ...) in
order."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pods import qos_class
from actors.status_manager.times import time_of_ns
from proto import cri_pb2 as cri
from tests.support.assembly import Assembly, played
from tests.support.fake_cri import Fault
from tests.support.virtual_loop import VirtualLoop

UID, NAME, NAMESPACE = "u", "p", "n"
FOREVER = "trap 'exit 0' TERM; serve"
START_SECONDS = 3.0
"""Until the node takes pods."""
FIRST_SECONDS = 3.0
"""Until a pod has come up: time for two relists."""
SEEN_SECONDS = 2.5
"""Until what happened in the runtime is in the status."""
Step = Callable[["Situation"], Awaitable[None]]
Wanted = Any
"""A value, a compiled expression for its text, or a set of values of which it is one."""


class Row(NamedTuple):
    """`source`: where the kubelet says so: a section of its API, a KEP, or a line of its behaviour."""

    name: str
    source: str
    pod: dict[str, Any]
    then: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    config: dict[str, Any] = {}
    known: str = ""
    """Why ours differs on purpose; empty for nearly all."""


class Difference(AssertionError):
    """Ours is not what the kubelet documents."""


# -- pods ------------------------------------------------------------------------------
def c(name: str = "a", script: str = FOREVER, /, **more: Any) -> dict[str, Any]:
    """A container."""
    return {
        "name": name,
        "image": "busybox",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **more,
    }


def sidecar(name: str = "s", script: str = FOREVER, /, **more: Any) -> dict[str, Any]:
    return c(name, script, restartPolicy="Always", **more)


def pod(*containers: dict[str, Any], meta: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """As the API server gives it: its defaults are filled in."""
    whole = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "Default",
        "enableServiceLinks": True,
        "securityContext": {},
        "nodeName": "node-1",
        "containers": list(containers) or [c()],
        **spec,
    }
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1, "resourceVersion": "1"}
    metadata["creationTimestamp"] = "2023-11-14T22:13:00Z"
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2023-11-14T22:13:00Z"}
    quality = qos_class(decode_pod(json.dumps({"metadata": metadata, "spec": whole}).encode()))
    status = {"phase": "Pending", "conditions": [scheduled], "qosClass": quality}
    return {"metadata": {**metadata, **(meta or {})}, "spec": whole, "status": status}


# -- a situation ------------------------------------------------------------------------------
class Situation:
    """One row while it is played."""

    def __init__(self, node: Assembly) -> None:
        self.node, self.fake, self.store = node, node.fake, node.store
        self._seen: dict[str, str] = {}

    def pod(self) -> dict[str, Any]:
        """As the API server has it. Raises Difference."""
        found = self.store.pods.get((NAMESPACE, NAME))
        if found is None:
            raise Difference(f"the API server does not have the pod any more\n{self.story()}")
        return found

    def status(self) -> dict[str, Any]:
        """The last one that the API server had."""
        found = self.store.pods.get((NAMESPACE, NAME))
        if found is None:
            return self.store.history[UID][-1]
        status: dict[str, Any] = found["status"]
        return status

    def container(self, name: str) -> Any:
        """The newest instance in the runtime. Raises Difference."""
        found = [one for one in self.fake.world.containers.values() if one.config.metadata.name == name]
        if not found:
            raise Difference(f"the runtime has no container {name}\n{self.story()}")
        return max(found, key=lambda one: (one.config.metadata.attempt, one.created_ns))

    def sandbox(self) -> Any:
        """The newest one. Raises Difference."""
        if not self.fake.world.sandboxes:
            raise Difference(f"the runtime has no sandbox\n{self.story()}")
        return list(self.fake.world.sandboxes.values())[-1]

    def events(self) -> list[str]:
        """`Warning BackOff a: text`."""
        lines = []
        for event in self.node.events:
            if event.name.startswith(NAME):
                name = re.sub(r".*\{(.*)\}", r" \1", event.field)
                lines.append(f"{event.type} {event.reason}{name}: {event.message}")
        return lines

    def calls(self) -> list[str]:
        """What was asked of the runtime, but for looks."""
        names, lines = dict(self._ids()), []
        calls: list[tuple[str, Any]] = [*self.fake.calls]
        for method, request in calls:
            if method == "RunPodSandbox" and request.config.metadata.name != "other":
                lines.append(f"RunPodSandbox {request.config.metadata.attempt}")
            elif method == "CreateContainer":
                lines.append(f"CreateContainer {request.config.metadata.name}")
            elif method == "StopContainer":
                lines.append(f"StopContainer {names.get(request.container_id, '?')} {request.timeout}")
            elif method == "ExecSync":
                lines.append(f"ExecSync {names.get(request.container_id, '?')} {' '.join(request.cmd)}")
            elif method == "PullImage":
                lines.append(f"PullImage {request.image.image}")
            elif method in ("StartContainer", "RemoveContainer", "UpdateContainerResources"):
                lines.append(f"{method} {names.get(request.container_id, '?')}")
            elif method in ("StopPodSandbox", "RemovePodSandbox", "UpdatePodSandboxResources"):
                lines.append(method)
        return lines

    def _ids(self) -> Iterable[tuple[str, str]]:
        """Ids of containers, and their names, also of those that are gone."""
        self._seen |= {one.id: one.config.metadata.name for one in self.fake.world.containers.values()}
        return self._seen.items()

    def remember(self) -> None:
        self._ids()

    def story(self) -> str:
        """For who reads a failure."""
        status = json.dumps(self.status() if UID in self.store.history else {}, indent=1)
        return "\n".join(["events:", *self.events(), "calls:", *self.calls(), "status:", status])


# -- steps ------------------------------------------------------------------------------
def waits(seconds: float) -> Step:
    """So much time passes."""

    async def step(on: Situation) -> None:
        left = seconds
        while left > 0:
            on.remember()
            await on.node.settle(min(left, 0.5))
            left -= 0.5

    return step


def ends(name: str, code: int = 0, reason: str = "", message: str = "") -> Step:
    """The process of its newest instance ends."""

    async def step(on: Situation) -> None:
        container = on.container(name)
        if container.state != cri.CONTAINER_RUNNING:
            raise Difference(f"{name} does not run\n{on.story()}")
        on.fake.finish(container.id, code, reason, message)
        await waits(SEEN_SECONDS)(on)

    return step


def deleted(grace: int = 30) -> Step:
    """Somebody deletes it at the API server."""

    async def step(on: Situation) -> None:
        found = on.pod()
        when = on.node.loop.wall() + grace
        found["metadata"] |= {
            "deletionTimestamp": _rfc3339(when),
            "deletionGracePeriodSeconds": grace,
            "generation": found["metadata"]["generation"] + 1,
        }
        on.node.put(found)
        await waits(SEEN_SECONDS)(on)

    return step


def changed(change: Callable[[dict[str, Any]], object]) -> Step:
    """Somebody changes its spec or metadata."""

    async def step(on: Situation) -> None:
        found = on.pod()
        change(found)
        found["metadata"]["generation"] += 1
        on.node.put(found)
        await waits(SEEN_SECONDS)(on)

    return step


def does(action: Callable[[Situation], object]) -> Step:
    """Something else happens."""

    async def step(on: Situation) -> None:
        action(on)
        await waits(SEEN_SECONDS)(on)

    return step


def at_once(action: Callable[[Situation], object]) -> Step:
    """The same, and nothing is waited for."""

    async def step(on: Situation) -> None:
        action(on)

    return step


def fails(method: str, details: str = "injected", *, error: str = "UNKNOWN", times: int = 1 << 30) -> Step:
    """The next calls of this method fail."""
    return at_once(lambda on: on.fake.faults.add(method, Fault(error=error, details=details, times=times)))


def works(method: str) -> Step:
    """They do no longer."""
    return at_once(lambda on: on.fake.faults.clear(method))


def has_object(kind: str, name: str, **body: Any) -> Step:
    """A Secret, ConfigMap or RuntimeClass of the cluster."""
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1"}
    return at_once(lambda on: on.node.objects.__setitem__((kind, name), {"metadata": metadata, **body}))


def in_registry(image: str, size: int = 1000) -> Step:
    return at_once(lambda on: on.fake.images.registry.__setitem__(image, size))


# -- expectations ------------------------------------------------------------------------------
def shows(wanted: Mapping[str, Wanted]) -> Step:
    """The status at the API server, by path: `phase`, `conditions.Ready`, `containers.a.state.waiting.reason`.

    A condition is told by its status, a container's state by a line: `running`, `waiting CrashLoopBackOff`, `terminated
    1 Error`."""

    async def step(on: Situation) -> None:
        status = on.status()
        wrong = [
            f"{path}: reference {_said(value)}, ours {found!r}"
            for path, value in wanted.items()
            if not _fits(found := read(status, path), value)
        ]
        if wrong:
            raise Difference("\n".join([*wrong, on.story()]))

    return step


def said(*wanted: str | re.Pattern[str]) -> Step:
    """Events in this order, others may be between them: `Warning BackOff a: text`, or without the text."""

    async def step(on: Situation) -> None:
        _in_order("event", wanted, on.events(), on)

    return step


def not_said(*wanted: str) -> Step:
    """No event with this reason."""

    async def step(on: Situation) -> None:
        for line in on.events():
            if line.split(":")[0].split(" ")[1] in wanted:
                raise Difference(f"event {line!r}, which the kubelet does not have\n{on.story()}")

    return step


def said_times(wanted: str, times: int) -> Step:
    """So many events whose beginning is this."""

    async def step(on: Situation) -> None:
        found = [line for line in on.events() if line.startswith(wanted)]
        if len(found) != times:
            raise Difference(f"{wanted!r}: reference {times} times, ours {len(found)}\n{on.story()}")

    return step


def asked(*wanted: str | re.Pattern[str]) -> Step:
    """Calls to the runtime in this order, others may be between them."""

    async def step(on: Situation) -> None:
        _in_order("call", wanted, on.calls(), on)

    return step


def asked_times(wanted: str, times: int) -> Step:
    async def step(on: Situation) -> None:
        found = [line for line in on.calls() if line.startswith(wanted)]
        if len(found) != times:
            raise Difference(f"{wanted!r}: reference {times} times, ours {len(found)}\n{on.story()}")

    return step


def not_asked(*wanted: str) -> Step:
    """No call that begins like this."""

    async def step(on: Situation) -> None:
        for line in on.calls():
            if line.startswith(wanted):
                raise Difference(f"call {line!r}, which the kubelet does not make\n{on.story()}")

    return step


def made(name: str, wanted: Mapping[str, Wanted]) -> Step:
    """The ContainerConfig of its newest instance, by path; `envs.X` is a variable, `mounts./path` a mount."""

    async def step(on: Situation) -> None:
        _compare(on.container(name).config, wanted, on)

    return step


def boxed(wanted: Mapping[str, Wanted]) -> Step:
    """The PodSandboxConfig, by path."""

    async def step(on: Situation) -> None:
        _compare(on.sandbox().config, wanted, on)

    return step


def gone() -> Step:
    """The API server does not have it any more."""

    async def step(on: Situation) -> None:
        if (NAMESPACE, NAME) in on.store.pods:
            raise Difference(f"the API server still has the pod\n{on.story()}")

    return step


def holds(what: str, check: Callable[[Situation], bool]) -> Step:
    async def step(on: Situation) -> None:
        if not check(on):
            raise Difference(f"{what}: not so\n{on.story()}")

    return step


# -- reading ------------------------------------------------------------------------------
_LISTS = {
    "containers": "containerStatuses",
    "init": "initContainerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}


def read(status: Mapping[str, Any], path: str) -> Any:
    """None for what is not there."""
    head, _, rest = path.partition(".")
    if head == "conditions":
        kind, _, rest = rest.partition(".")
        found = next((one for one in status.get("conditions", []) if one["type"] == kind), None)
        return _walk(found, rest or "status")
    if head in _LISTS:
        name, _, rest = rest.partition(".")
        found = next((one for one in status.get(_LISTS[head], []) if one["name"] == name), None)
        return _walk(found, rest or "state")
    return _walk(status, path)


def _walk(found: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(found, list):
            found = found[int(part)] if part.isdigit() and int(part) < len(found) else None
        elif isinstance(found, Mapping):
            found = found.get(part)
        else:
            return None
    return _state(found) if path in ("state", "lastState") else found


def _state(state: Mapping[str, Any] | None) -> str:
    if not state:
        return ""
    ((kind, of),) = state.items()
    return " ".join(str(part) for part in (kind, of.get("exitCode"), of.get("reason")) if part not in (None, ""))


def _compare(message: Any, wanted: Mapping[str, Wanted], on: Situation) -> None:
    wrong = [
        f"{path}: reference {_said(value)}, ours {found!r}"
        for path, value in wanted.items()
        if not _fits(found := _field(message, path), value)
    ]
    if wrong:
        raise Difference("\n".join([*wrong, str(message)[:3000], on.story()]))


def _field(message: Any, path: str) -> Any:
    head, _, rest = path.partition(":")
    if head == "envs":
        values = {one.key: one.value for one in message.envs}
        return values.get(rest)
    if head == "mounts":
        mount, _, field = rest.partition(":")
        found = next((one for one in message.mounts if one.container_path == mount), None)
        return found is not None if not field else getattr(found, field, None)
    if head in ("labels", "annotations"):
        return getattr(message, head).get(rest)
    for part in path.split("."):
        message = message[int(part)] if part.isdigit() else getattr(message, part)
    return list(message) if hasattr(message, "extend") else dict(message) if hasattr(message, "items") else message


def _fits(found: Any, wanted: Wanted) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.fullmatch(found) is not None
    return found in wanted if isinstance(wanted, frozenset) else bool(found == wanted)


def _said(wanted: Wanted) -> str:
    return wanted.pattern if isinstance(wanted, re.Pattern) else repr(wanted)


def _in_order(kind: str, wanted: tuple[str | re.Pattern[str], ...], found: list[str], on: Situation) -> None:
    rest = iter(found)
    for one in wanted:
        if not any(_is(line, one) for line in rest):
            raise Difference(f"{kind} {_said(one)} is missing, or not in this order\n{on.story()}")


def _is(line: str, wanted: str | re.Pattern[str]) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.fullmatch(line) is not None
    return line == wanted or line.startswith(f"{wanted}:")


def _rfc3339(when: float) -> str:
    return time_of_ns(round(when * 1e9)) or ""


# -- playing ------------------------------------------------------------------------------
async def play(row: Row, home: Path, loop: VirtualLoop) -> None:
    """Raises Difference."""
    node = Assembly(home, loop, **row.config)
    on = Situation(node)
    with played(node.fake):
        await node.start()
        await node.settle(START_SECONDS)
        try:
            for step in row.before:
                await step(on)
            if row.pod:
                node.put(row.pod)
                await waits(FIRST_SECONDS)(on)
            for step in row.then:
                await step(on)
        finally:
            await node.stop()
