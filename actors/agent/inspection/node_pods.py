"""The pods of this node, refused manifests, and actors that did not answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from actors.pod_config.messages import PodSources
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.names import SOURCE_API
from actors.shared.kube.times import rfc3339
from actors.status_manager.messages import STATUS_MANAGER
from supervision.documents.suggestions import close_to, did_you_mean, hint_of

from .pod_rows import source

Object = dict[str, Any]
_WRONG_NAME = re.compile(r"metadata\.name: '([^']+)'")
"""An error about the name itself."""
_STATES = {
    CriContainerState.RUNNING: "running",
    CriContainerState.EXITED: "terminated",
    CriContainerState.CREATED: "waiting",
}


class NodePods(msgspec.Struct, frozen=True):
    """The answer to "what runs here"."""

    pods: list[Object]
    """As API objects, with the status of now."""
    refused: list[str] = []
    """Errors by manifest and field, and pods in quarantine."""
    problems: list[str] = []
    """Actors that did not answer, sources that were not read yet, and what is therefore not shown."""
    by_runtime: bool = False
    """The pods are as the runtime has them: the status manager did not answer."""
    removed: frozenset[str] = frozenset()
    """UIDs of the pods that terminate because no source has them."""


class NoSuchPod(Exception):
    """No pod of that name, or more than one."""


class SeveralPods(NoSuchPod):
    """More than one."""


class PodNotKnown(NoSuchPod):
    """The runtime has none, and the status manager, which may know it, did not answer."""


def refused_by(sources: PodSources) -> list[str]:
    """Manifests and pods that do not run because of their content."""
    return [error for source in sources.sources for error in source.errors]


def unread_of(sources: PodSources) -> str:
    """The sources that the agent has not read since its start, so that it does not know their pods; '' for none."""
    waiting = ", ".join(source.name for source in sources.sources if not source.ready)
    return (
        f"pods of {waiting} are not read yet, and those that run are not shown: see `supervise status`"
        if waiting
        else ""
    )


def kept_while_unread(names: Collection[str]) -> str:
    """What stays on the node while these sources have not been read: static pods need only their own sources."""
    return f"until then {'only static pods are' if set(names) == {SOURCE_API} else 'no pod is'} removed"


def of_runtime(pod: PodRuntime) -> Object:
    """A pod as far as the runtime knows it: for when the status manager does not answer. Containers that run have no
    `ready`."""
    sandbox = next(iter(pod.sandboxes), None)
    names = dict.fromkeys(container.name for container in sorted(pod.containers, key=lambda one: one.created_ns))
    done = _init_containers(pod)
    newest = [found for name in names if name not in done and (found := pod.newest(name)) is not None]
    started_ns = min((one.created_ns for one in pod.sandboxes if one.created_ns), default=0)
    return {
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "annotations": sandbox.annotations if sandbox is not None else {},
        },
        "spec": {"containers": [{"name": one.name, "image": one.image} for one in newest]},
        "status": {
            **({"startTime": _time(started_ns)} if started_ns else {}),
            "phase": "Running" if any(one.state is CriContainerState.RUNNING for one in newest) else "Unknown",
            "podIP": next(iter(sandbox.ips), "") if sandbox is not None else "",
            "podIPs": [{"ip": ip} for ip in sandbox.ips] if sandbox is not None else [],
            "containerStatuses": [
                {
                    "name": one.name,
                    "image": one.image,
                    "imageID": one.image_ref,
                    "containerID": one.id,
                    "restartCount": one.restart_count,
                    # of one that runs, the runtime does not know whether it is ready
                    **({} if one.state is CriContainerState.RUNNING else {"ready": False}),
                    "state": _state(one),
                    "lastState": next((_state(older) for older in _older(pod, one)), {}),
                }
                for one in newest
            ],
        },
    }


def _init_containers(pod: PodRuntime) -> set[str]:
    """The containers that have ended well before another one was made: the runtime does not say which are init
    containers."""
    ended = {
        one.name: one.finished_ns
        for one in pod.containers
        if one.state is CriContainerState.EXITED and one.exit_code == 0 and one.finished_ns
    }
    first = {one.name: one.created_ns for one in pod.containers}  # newest first: the last one counts
    return {name for name, end in ended.items() if any(made >= end for other, made in first.items() if other != name)}


def _time(nanoseconds: int) -> str:
    """As in the API."""
    return rfc3339(nanoseconds // 1_000_000_000)


def _state(container: CriContainer) -> Object:
    kind = _STATES.get(container.state, "waiting")
    if kind == "running":
        return {kind: {"startedAt": _time(container.started_ns)} if container.started_ns else {}}
    details: Object = {"reason": container.reason}
    if kind == "terminated":
        details |= {"exitCode": container.exit_code, "containerID": container.id}
        details |= {"finishedAt": _time(container.finished_ns)} if container.finished_ns else {}
    return {kind: details}


def _older(pod: PodRuntime, newest: CriContainer) -> list[CriContainer]:
    """The earlier instances of the container that have ended, newest first."""
    same = [one for one in pod.containers if one.name == newest.name and one.id != newest.id]
    return [one for one in same if one.state is CriContainerState.EXITED]


def why_not(
    error: NoSuchPod, refused: Sequence[str], wanted: str, problems: Sequence[str] = (), named: Mapping[str, str] = {}
) -> str:
    """The text of the error. If a manifest of that pod or file is refused, its errors explain it; if others are
    refused, the text says so. `problems`: why the pod may not be known. `named`: as for `of_name`."""
    if its := of_name(refused, wanted, named):
        return "\n".join([f"there is no pod {wanted} on this node, because it is refused:", *its])
    if refused and not isinstance(error, SeveralPods):
        return f"{error}; some manifests are refused: `supervise pods` shows them"
    return "; ".join([str(error), *([] if isinstance(error, SeveralPods | PodNotKnown) else problems)])


def of_name(refused: Sequence[str], wanted: str, named: Mapping[str, str] = {}) -> list[str]:
    """The errors of the pod or file of that name: a refused manifest has no pod. `named`: the pod's name in a refused
    manifest, by its path."""
    name = wanted.rpartition("/")[2]
    return [error for error in refused if name in {*_names(error), named.get(error.partition(": ")[0], "")}]


def _names(error: str) -> set[str]:
    """The names that a user may give: the file's, with and without its suffix, and the pod's."""
    place, _, text = error.partition(": ")
    pod = text.split()[1:2] if text.startswith("pod ") else []
    names = {name.rpartition("/")[2] for name in (place, *pod)}
    if wrong := _WRONG_NAME.match(text):
        names.add(wrong[1])
    return names | {name.partition(".")[0] for name in names}


def find(
    pods: list[Object], wanted: str, namespace: str = "", refused: Sequence[str] = (), *, by_runtime: bool = False
) -> Object:
    """The pod of that name, `namespace/name` or UID. A static pod is also found by the name in its manifest, without
    the node's name. `refused`: errors of manifests; their names are suggested too. `by_runtime`: see NodePods.

    Raises NoSuchPod, PodNotKnown."""
    space, _, name = wanted.rpartition("/")
    near = [pod for pod in pods if (space or namespace) in ("", pod["metadata"].get("namespace"))]
    found = [pod for pod in pods if wanted == pod["metadata"].get("uid")] or _of_name(near, name)
    if len(found) == 1:
        return found[0]
    if found:
        places = " or ".join(full_name(pod) for pod in found)
        raise SeveralPods(f"{wanted} may be {places}")
    if by_runtime:
        text = f"the runtime has no pod {wanted}, and {STATUS_MANAGER} does not answer: see `supervise status`"
        raise PodNotKnown(text)
    if (space or namespace) and (elsewhere := _of_name(pods, name)):
        places = " or ".join(full_name(pod) for pod in elsewhere)
        raise NoSuchPod(f"there is no pod {name} in namespace {space or namespace}: {places} is in another one")
    names = [pod["metadata"]["name"] for pod in pods] + [full_name(pod) for pod in pods]
    if not of_name(refused, wanted):
        names += {name for error in refused for name in _names(error) if "." not in name}
    raise NoSuchPod(f"there is no pod {wanted} on this node{_hint(wanted, names)}")


def _hint(wanted: str, names: Collection[str]) -> str:
    """A name like the wanted one: misspelt, or its beginning; the node's name at the end of a static pod's may miss."""
    sizes = [size for size in (len(wanted), len(wanted) + 1) if size > 2]
    beginnings = [one[:size] for one in names for size in sizes if len(one) > size]
    if found := did_you_mean(wanted, names):
        return found
    if near := close_to(wanted, beginnings):
        return hint_of([one for one in names if one.startswith(near[0])][:2])
    return ": see `supervise pods`"


def _of_name(pods: Sequence[Object], name: str) -> list[Object]:
    """The pods of that name, else the static pods that have it in their manifest."""
    return [pod for pod in pods if pod["metadata"]["name"] == name] or [
        pod for pod in pods if source(pod) != "api" and pod["metadata"]["name"].startswith(f"{name}-")
    ]


def full_name(pod: Object) -> str:
    """`namespace/name`."""
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
