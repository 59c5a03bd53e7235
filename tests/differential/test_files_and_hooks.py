"""Variables from files, expanded sub-paths, hooks by http that answer badly or not at all, hooks without grace."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Final

from tests.support.tcp_ports import free_port

from .row import (
    Row,
    Situation,
    Step,
    asked,
    asked_times,
    at_once,
    c,
    deleted,
    ends,
    holds,
    made,
    not_asked,
    not_said,
    pod,
    shows,
    waits,
)
from .table import documented
from .test_admission import manifest

ENV_FILES: Final = "API, FileKeySelector; KEP-3721; subsystems 8.3"
SUB_PATHS: Final = "API, VolumeMount.subPathExpr"
HOOKS: Final = "subsystems 8.3, 8.5; API, LifecycleHandler: an HTTP answer is discarded"
SERVED: Final = free_port()
VOLUMES: Final = [{"name": "v", "emptyDir": {}}]


def from_file(key: str = "K", **more: Any) -> dict[str, Any]:
    selector = {"volumeName": "v", "path": "app.env", "key": key, **more}
    return {"name": "X", "valueFrom": {"fileKeyRef": selector}}


def reader(variable: dict[str, Any]) -> dict[str, Any]:
    """A pod whose init container leaves a file for the app."""
    mounts = [{"name": "v", "mountPath": "/data"}]
    return pod(c("a", env=[variable]), initContainers=[c("i", "serve", volumeMounts=mounts)], volumes=VOLUMES)


def written(text: str) -> Step:
    """The init container has written the file."""

    def write(on: Situation) -> None:
        volume = Path(on.node.home, "root/pods/u/volumes/kubernetes.io~empty-dir/v")
        (volume / "app.env").write_text(text)

    return at_once(write)


def served(answer: bytes) -> Step:
    """Whoever connects has this answer; without one, the connection stays open."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer:
            writer.write(answer)
            writer.close()
        else:
            await reader.read()
            writer.close()

    async def step(on: Situation) -> None:
        setattr(on, "server", await asyncio.start_server(serve, "127.0.0.1", SERVED))  # noqa: B010 - kept until its end

    return step


def hook(kind: str, **action: Any) -> dict[str, Any]:
    return {kind: action}


def rewritten() -> Step:
    """The file of the static pod is removed and written again before anybody has looked."""

    async def step(on: Situation) -> None:
        (on.node.manifests / "s.json").unlink()
        await manifest()(on)

    return step


NOT_FOUND: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MOVED: Final = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
GET: Final = {"host": "127.0.0.1", "port": SERVED, "path": "/x"}
EXPANDED: Final = {"name": "v", "mountPath": "/data", "subPathExpr": "$(POD)/x"}
POD_NAME: Final = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
ROWS = [
    Row(
        "env files: the value of a key",
        ENV_FILES,
        reader(from_file()),
        (written("# a comment\nOTHER='1'\nK='two words'\n"), ends("i"), made("a", {"envs:X": b"two words"})),
    ),
    Row(
        "env files: a key that is missing keeps the container from being made",
        ENV_FILES,
        reader(from_file("GONE")),
        (
            written("K='1'\n"),
            ends("i"),
            not_asked("CreateContainer a"),
            shows({"phase": "Pending", "containers.a": "waiting CreateContainerConfigError"}),
        ),
    ),
    Row(
        "env files: a key that comes later starts the container",
        ENV_FILES,
        reader(from_file("GONE")),
        (
            written("K='1'\n"),
            ends("i"),
            written("GONE='now'\n"),
            waits(60),
            made("a", {"envs:X": b"now"}),
            shows({"containers.a": "running"}),
        ),
    ),
    Row(
        "env files: an optional key that is missing is no variable",
        ENV_FILES,
        reader(from_file("GONE", optional=True)),
        (written("K='1'\n"), ends("i"), shows({"containers.a": "running"}), made("a", {"envs:X": None})),
    ),
    Row(
        "env files: an optional file that is missing is no variable",
        ENV_FILES,
        reader(from_file(optional=True)),
        (ends("i"), shows({"containers.a": "running"}), made("a", {"envs:X": None})),
    ),
    Row(
        "env files: a file that is missing keeps the container from being made",
        ENV_FILES,
        reader(from_file()),
        (ends("i"), shows({"containers.a": "waiting CreateContainerConfigError"})),
    ),
    Row(
        "a sub-path with a variable that the container does not have keeps it from being made",
        SUB_PATHS,
        pod(c("a", volumeMounts=[EXPANDED]), volumes=VOLUMES),
        (not_asked("CreateContainer a"), shows({"containers.a": "waiting CreateContainerConfigError"})),
    ),
    Row(
        "a postStart hook by http that answers 404 is done",
        HOOKS,
        pod(c("a", lifecycle=hook("postStart", httpGet=GET))),
        (
            waits(3),
            shows({"containers.a": "running", "containers.a.restartCount": 0}),
            not_said("FailedPostStartHook"),
            asked_times("StopContainer", 0),
        ),
        before=(served(NOT_FOUND),),
    ),
    Row(
        "a preStop hook by http that answers 500 is done",
        HOOKS,
        pod(c("a", lifecycle=hook("preStop", httpGet=GET))),
        (deleted(), waits(2), asked(re.compile(r"StopContainer a (29|30)")), not_said("FailedPreStopHook")),
        before=(served(MOVED),),
    ),
    Row(
        "a preStop hook by http that never answers is left behind when the grace is over",
        HOOKS,
        pod(c("a", lifecycle=hook("preStop", httpGet=GET)), terminationGracePeriodSeconds=10),
        (deleted(10), waits(5), not_asked("StopContainer a"), waits(8), asked("StopContainer a 2")),
        before=(served(b""),),
    ),
    Row(
        "a pod that ends has a second of grace for its preStop hooks, and the runtime is given 2 s",
        "pod_workers.go, calculateEffectiveGracePeriod: never zero; kuberuntime killContainer: minimum 2 s",
        pod(c("a", lifecycle=hook("preStop", exec={"command": ["true"]})), terminationGracePeriodSeconds=0),
        (deleted(0), waits(3), asked("ExecSync a true", "StopContainer a 2")),
    ),
    Row(
        "a static pod whose file is removed and written again at once starts again",
        "subsystems 4: a create for a terminating UID starts again",
        {},
        (
            manifest(),
            waits(25),
            rewritten(),
            waits(60),
            asked("CreateContainer a", "StopContainer a 30"),
            asked_times("CreateContainer a", 2),
            holds("running", lambda on: on.store.pods["n", "s-node-1"]["status"]["phase"] == "Running"),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
