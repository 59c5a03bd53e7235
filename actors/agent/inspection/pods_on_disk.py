"""The pods of a node while neither its agent nor its runtime answers: what containerd's shims and the logs of the
containers say. A managed containerd ends with its agent; shims and containers go on."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from actors.container_runtime.instance import ManagedRuntime
from actors.shared.config.start.start_records import StartRecord
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube.names import CONFIG_SOURCE, SOURCE_FILE
from supervision.errors import UNREADABLE
from supervision.process_stat import is_alive

from .node_pods import Object, of_runtime

_KEY: Final = "io.kubernetes.cri."
"""Begins the annotations that containerd writes into the OCI configuration of a container."""


class _Bundle(msgspec.Struct):
    """What is read of an OCI configuration."""

    annotations: dict[str, str]


class _Task(NamedTuple):
    """A container or sandbox that runs."""

    id: str
    started_ns: int
    """Since 1970."""
    notes: dict[str, str]
    """The annotations, without `_KEY`."""


_SPEC: Final = msgspec.json.Decoder(_Bundle)


def pods_on_disk(start: StartRecord, uids: Sequence[str]) -> list[Object]:
    """The pods with these UIDs as API objects; of a runtime that is not managed only the names are known."""
    tasks = _tasks(start) if start.managed_root else {}
    logs = _logs(start)
    found = []
    for uid in uids:
        namespace, name, directory = logs.get(uid, ("", uid, ""))
        of_pod = tasks.get(uid, ())
        containers = [_container(uid, task, directory) for task in of_pod if "container-name" in task.notes]
        made_ns = min((task.started_ns for task in of_pod if "container-name" not in task.notes), default=0)
        containers += _others(uid, directory, {one.name for one in containers})
        notes = {} if "-" in uid else {CONFIG_SOURCE: SOURCE_FILE}  # the UID of a static pod is a hash
        sandbox = Sandbox(
            id="", pod_uid=uid, pod_name=name, pod_namespace=namespace, annotations=notes, created_ns=made_ns
        )
        pod = PodRuntime(uid=uid, name=name, namespace=namespace, sandboxes=[sandbox], containers=containers)
        found.append(of_runtime(pod))
    return found


def _tasks(start: StartRecord) -> dict[str, list[_Task]]:
    """What runs, by the UID of its pod, in the order in which it was started: mostly that of the pod's containers."""
    found: dict[str, list[_Task]] = {}
    runtime = ManagedRuntime(root=start.managed_root, state=start.managed_state)
    for bundle in sorted(Path(runtime.tasks).glob("*")):
        try:
            annotations = _SPEC.decode((bundle / "config.json").read_bytes()).annotations
            notes = {key.removeprefix(_KEY): value for key, value in annotations.items() if key.startswith(_KEY)}
            pid = bundle / "init.pid"
            if is_alive(int(pid.read_text())):
                task = _Task(bundle.name, pid.stat().st_mtime_ns, notes)
                found.setdefault(notes["sandbox-uid"], []).append(task)
        except (OSError, *UNREADABLE, KeyError):
            continue  # it has ended, or is half made
    return {uid: sorted(tasks, key=lambda task: task.started_ns) for uid, tasks in found.items()}


def _container(uid: str, task: _Task, logs: str) -> CriContainer:
    name = task.notes["container-name"]
    return CriContainer(
        id=task.id,
        name=name,
        pod_uid=uid,
        state=CriContainerState.RUNNING,
        image=task.notes.get("image-name", ""),
        started_ns=task.started_ns,
        attempt=_last_log(f"{logs}/{name}") if logs else 0,
    )


def _others(uid: str, logs: str, running: Container[str]) -> list[CriContainer]:
    """The containers that have a log and do not run, as far as it is known."""
    names = sorted(one.name for one in Path(logs).glob("*") if one.is_dir()) if logs else []
    return [
        CriContainer(
            id="", name=name, pod_uid=uid, state=CriContainerState.UNKNOWN, attempt=_last_log(f"{logs}/{name}")
        )
        for name in names
        if name not in running
    ]


def _last_log(directory: str) -> int:
    """The number of the last instance of a container: its log is `<restarts>.log`."""
    return max((int(one.stem) for one in Path(directory).glob("*.log") if one.stem.isdecimal()), default=0)


def _logs(start: StartRecord) -> dict[str, tuple[str, str, str]]:
    """(namespace, name, log directory) by UID; a log directory is named `<namespace>_<name>_<uid>`."""
    try:
        names = os.listdir(start.pod_logs_dir)
    except OSError:
        return {}
    parts = [(name, name.split("_")) for name in names]
    return {each[2]: (each[0], each[1], f"{start.pod_logs_dir}/{name}") for name, each in parts if len(each) == 3}
