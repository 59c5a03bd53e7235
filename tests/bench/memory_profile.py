"""`make memory-profile`: records what the actors run, on a node of its own and as a node of a cluster, and writes the
files of actors/agent/memory_profile again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from actors.agent import memory_profile
from actors.container_runtime import image_import, images
from actors.container_runtime.host import look
from actors.container_runtime.host_setup import prepare
from tests.support.api_connection import ApiConnection
from tests.support.joined import Joined, JoinedNode, cluster_running, pod
from tests.support.runtime import PREFIX, RealRuntime, sweep

from . import pod_lifecycle
from .footprint import processes
from .node import Node, NotInTime
from .recorder.sitecustomize import DIRECTORY, SIGNAL

PODS: Final = 10
IDLE_SECONDS: Final = 70.0
"""The slowest of the periodic tasks that every node has run once a minute."""
WRITE_SECONDS: Final = 30.0
LEAST_ACTORS: Final = 4
"""A function that fewer run is not listed: a copy of its code takes as much memory as it saves."""
Recorded = dict[str, set[str]]
"""Functions or names, in order of their first use, to the actors that use them."""


def in_order(used: Mapping[str, set[str]]) -> list[str]:
    """What most actors use first; what the same actors use together; there, what came first."""
    actors = sorted({actor for some in used.values() for actor in some})
    number = {actor: at for at, actor in enumerate(actors)}
    return sorted(used, key=lambda one: (-len(used[one]), sorted(number[actor] for actor in used[one])))


class Profile:
    """What was recorded so far."""

    def __init__(self) -> None:
        self.functions: Recorded = {}
        self.names: Recorded = {}

    def add(self, actor: str, called: Iterable[Mapping[str, object]]) -> None:
        for one in called:
            self.functions.setdefault(str(one["function"]), set()).add(actor)
            names = one["names"]
            assert isinstance(names, list)
            for name in names:
                self.names.setdefault(name, set()).add(actor)

    def record(self, node: Node, directory: Path) -> None:
        """Have every actor of the node write what it called. Raises NotInTime."""
        pids = {name: pid for name, pid in processes(node).items() if not name.startswith("fork_server")}
        for pid in pids.values():
            os.kill(pid, SIGNAL)
        end = time.monotonic() + WRITE_SECONDS
        for name, pid in pids.items():
            path = directory / str(pid)
            while not path.exists():
                if time.monotonic() > end:
                    raise NotInTime(f"{name} wrote no profile")
                time.sleep(0.05)
            self.add(name, json.loads(path.read_text()))

    def write(self, directory: Path) -> None:
        shared = {function: actors for function, actors in self.functions.items() if len(actors) >= LEAST_ACTORS}
        for file, used in (("functions.txt", shared), ("names.txt", self.names)):
            Path(directory, file).write_text("".join(f"{line}\n" for line in in_order(used)))


def main() -> int:
    host = look(tempfile.gettempdir())
    sweep()
    runtime = RealRuntime(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")), host)
    profile = Profile()
    try:
        prepare(runtime.instance, host)
        runtime.start()
        image_import.import_layout(runtime.instance, host, images.first_images(host.machine))
        asyncio.run(runtime.ready())
        with _recorder(runtime.base / "profile") as directory:
            _standalone(runtime, profile, directory)
            _joined(runtime, profile, directory)
    finally:
        for left in runtime.purge():
            print(f"left behind: {left}", file=sys.stderr)
    profile.write(Path(memory_profile.__file__).parent)
    print(f"{len(profile.functions)} functions, {len(profile.names)} names")
    return 0


@contextmanager
def _recorder(directory: Path) -> Iterator[Path]:
    """Agents that are started meanwhile record into the directory."""
    directory.mkdir()
    more = {DIRECTORY: str(directory), "PYTHONPATH": str(Path(__file__).with_name("recorder"))}
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield directory
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _standalone(runtime: RealRuntime, profile: Profile, directory: Path) -> None:
    node = Node(runtime)
    try:
        node.start()
        node.wait_whole()
        names = list(asyncio.run(pod_lifecycle.start_pods(node, PODS)))
        time.sleep(IDLE_SECONDS)
        asyncio.run(pod_lifecycle.remove_pods(node, names))
        profile.record(node, directory)
    finally:
        node.remove()


def _joined(runtime: RealRuntime, profile: Profile, directory: Path) -> None:
    with cluster_running(runtime.base / "api") as cluster, ApiConnection(cluster.admin) as api:
        node = JoinedNode(runtime, cluster)
        found = Joined(cluster, node, api)
        try:
            node.start()
            node.wait_whole()
            found.wait_ready()
            names = [f"pod{number}" for number in range(PODS)]
            found.create(*(pod(name) for name in names))
            found.wait_pods_ready(*names)
            time.sleep(IDLE_SECONDS)
            for name in names:
                found.delete(name)
            found.wait_no_pod(*names, seconds=pod_lifecycle.DEADLINE_SECONDS)
            profile.record(node, directory)
        finally:
            node.remove()


if __name__ == "__main__":
    sys.exit(main())
