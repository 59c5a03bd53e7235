"""An agent in a cluster: its pods are at the API server for tests, which can be injured too."""

from __future__ import annotations

import base64
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actors.shared.api.errors import AlreadyExists, ApiError, NotFound
from actors.shared.cri.model import CriContainer, CriContainerState
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, PODS, Joined, condition

from .model import LASTING, Sort, Step
from .observers import Watching
from .run_record import RunRecord
from .workload import CONFIG_MAP, SECRET, TALKER, Wanted, made, talker

SORTS: tuple[tuple[Sort, float], ...] = (("calm", 4), ("reads", 3), ("crashes", 1), ("succeeds", 1), ("fails", 1))
"""`calm` has probes, `reads` a secret, a config map and its own labels in files; the others end."""
MOST_PODS = 8
USER = f"system:node:{NODE}"
API_SECONDS = 40.0
OBJECTS = {SECRET: "/api/v1/namespaces/default/secrets", CONFIG_MAP: "/api/v1/namespaces/default/configmaps"}


class Cluster:
    """`prepare` before the run: objects that pods mount, and one pod that talks all the while."""

    def __init__(self, joined: Joined, server: ApiProcess) -> None:
        self.joined, self.node, self.server = joined, joined.node, server
        self.record, self.watching = RunRecord(), Watching(joined)
        self.nodes_before = len(joined.nodes.events)
        self._execs: list[tuple[subprocess.Popen[str], str]] = []

    def prepare(self) -> None:
        self.write_objects("POST")
        self.joined.create(talker())
        self.joined.wait_pods_ready(TALKER, seconds=60)
        self.record.wanted[TALKER] = Wanted("calm", self.joined.pod(TALKER)["metadata"]["uid"])

    # -- of any target -----------------------------------------------------------------------------------------------
    @contextmanager
    def going_on(self) -> Iterator[None]:
        with self.watching.going_on():
            yield
        self._look_at_execs(wait=True)

    def after(self, step: Step) -> None:
        self._look_at_execs()

    def repair(self) -> None:
        """The server is there, and does what it should."""
        self.bring_server_back()
        self.server.no_faults()

    def forgive_unready(self) -> None:
        for name, one in self.record.wanted.items():
            one.ends += condition(self.joined.pod(name), "Ready").get("status") != "True"

    def figures(self) -> dict[str, object]:
        watching = self.watching
        return {"oldest_lease": watching.oldest_lease, "lines": watching.lines, "follows": watching.follows}

    def create(self, name: str, sort: Sort) -> None:
        whole = made(name, sort)
        whole["spec"]["nodeName"] = NODE
        self.ask("POST", PODS, whole)
        uid = self.ask("GET", f"{PODS}/{name}")["metadata"]["uid"]
        self.record.wanted[name] = Wanted(sort, uid)

    def delete(self, name: str, grace: int | None) -> None:
        gone = self.record.wanted.pop(name)
        if grace == 0 or gone.sort not in LASTING:
            self.watching.hasty.add(gone.uid)
        self.ask("DELETE", f"{PODS}/{name}", {} if grace is None else {"gracePeriodSeconds": grace})

    # -- the server -------------------------------------------------------------------------------------------------
    def bring_server_back(self) -> None:
        if self.server.running:
            self.server.signal(signal.SIGCONT)
        else:
            self.server.start()
        self.watching.away = False

    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """Again when the connection was cut. None when it is not there, or is there already."""
        end = time.monotonic() + API_SECONDS
        while True:
            try:
                return self.joined.api.call(method, path, body, content_type)
            except (NotFound, AlreadyExists):
                return None
            except (ApiError, TimeoutError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def label(self, name: str, turn: str) -> None:
        patch = {"metadata": {"labels": {"turn": turn}}}
        self.ask("PATCH", f"{PODS}/{name}", patch, "application/merge-patch+json")
        self.record.wanted[name].label = turn

    def write_objects(self, method: str) -> None:
        """The secret and the config map say the record's word."""
        word = str(self.record.word)
        for name, path in OBJECTS.items():
            data = base64.b64encode(word.encode()).decode() if name == SECRET else word
            whole = {"metadata": {"name": name}, "data": {"word": data}}
            if method == "POST":
                self.ask("POST", path, whole)
            else:
                self.ask("PATCH", f"{path}/{name}", whole, "application/merge-patch+json")

    # -- containers -------------------------------------------------------------------------------------------------
    def running(self, name: str) -> CriContainer | None:
        uid = self.record.wanted[name].uid
        found = (one for one in self.node.containers() if one.pod_uid == uid)
        return next((one for one in found if one.state is CriContainerState.RUNNING), None)

    def start_exec(self, pod: str, word: str) -> None:
        self._execs.append((self.exec(pod, word), word))

    def exec(self, pod: str, word: str) -> subprocess.Popen[str]:
        kubeconfig = f"--kubeconfig={self.joined.cluster.admin}"
        command = ["timeout", "30", "kubectl", kubeconfig, "exec", pod, "--", "echo", word]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def _look_at_execs(self, *, wait: bool = False) -> None:
        for process, word in list(self._execs):
            if not wait and process.poll() is None:
                continue
            said = process.communicate()[0]
            if process.returncode == 0 and said.strip() != word:
                self.record.unlike.append(f"exec ended well and printed {said!r}, not {word!r}")
            self._execs.remove((process, word))
