"""A whole agent that is a node of a cluster: the API server for tests, or the real one of TROUPELET_TEST_KUBECONFIG."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from actors.shared.api.errors import AlreadyExists, NotFound, Unreachable
from actors.shared.cri.model import CriContainerState
from tests.support.api_connection import ApiConnection, Obj, SeenEvent, Watched
from tests.support.api_process import ApiProcess
from tests.support.faulty_node import HEARTBEAT_SECONDS, FaultyNode
from tests.support.real_cluster import RealCluster
from tests.support.runtime import RealRuntime

NODE = "bench"
KUBECONFIG = "TROUPELET_TEST_KUBECONFIG"
"""Environment variable: path of an administrator's kubeconfig of a real cluster to join for the tests."""
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BUSYBOX = "docker.io/library/busybox:latest"
FOREVER = ["sh", "-c", "trap 'kill $!; exit 0' TERM; echo began; sleep 1000000 & wait"]
"""Until it is told to end, and then at once; idle, so that many are no load."""
ON_NODE: Obj = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}]}
        ]
    }
}
"""The node affinity of a local volume that is on this node."""
STRATEGIC = "application/strategic-merge-patch+json"


class Cluster(Protocol):
    """What tests need of either kind."""

    @property
    def admin(self) -> str: ...

    @property
    def ca(self) -> str:
        """Path of the CA of the server's own client certificate towards nodes."""

    def node_kubeconfig(self, node: str) -> str: ...

    def kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0, check: bool = True) -> str: ...

    def run_kubectl(
        self, *arguments: str, data: str = "", seconds: float = 30.0
    ) -> subprocess.CompletedProcess[str]: ...


class JoinedNode(FaultyNode):
    """An agent with a kubeconfig. `more`: fields of its configuration."""

    def __init__(
        self,
        runtime: RealRuntime,
        cluster: Cluster,
        name: str = "joined",
        *,
        heartbeat_seconds: int = HEARTBEAT_SECONDS,
        **more: object,
    ) -> None:
        self.cluster, self._more = cluster, more
        super().__init__(runtime, name, heartbeat_seconds=heartbeat_seconds)
        self._kubeconfig = cluster.node_kubeconfig(NODE)

    def _configuration(self) -> dict[str, object]:
        return {
            **super()._configuration(),
            "authentication": {
                "x509": {"clientCAFile": self.cluster.ca},
                "webhook": {"enabled": True, "cacheTTL": "2m"},
                "anonymous": {"enabled": False},
            },
            "authorization": {"mode": "Webhook"},
            "clusterDNS": ["10.96.0.10"],
            "clusterDomain": "cluster.local",
            **self._more,
        }

    def _flags(self) -> list[str]:
        return [*super()._flags(), f"--kubeconfig={self._kubeconfig}", "--node-labels=test=joined"]


def pod(name: str, *containers: Obj, **spec: Any) -> Obj:
    """One that runs until it is told to end, and then does so at once."""
    made = {"containers": list(containers) or [container("main")], "terminationGracePeriodSeconds": 5, **spec}
    metadata = {"name": name, "namespace": "default", **made.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made}


def container(name: str, *command: str, **more: Any) -> Obj:
    settings = {"image": BUSYBOX, "imagePullPolicy": "IfNotPresent", "command": list(command) or FOREVER}
    return {"name": name, **settings, **more}


class JoinedView:
    """A cluster with one node, and what an administrator sees of it."""

    clear_seconds = 100.0

    def __init__(self, cluster: Cluster, api: ApiConnection) -> None:
        self.cluster, self.api = cluster, api
        self.pods: Watched = api.watch("/api/v1/pods", fieldSelector=f"spec.nodeName={NODE}")
        self.nodes: Watched = api.watch(NODES, fieldSelector=f"metadata.name={NODE}")

    # -- the node -------------------------------------------------------------------------------------------------
    def wait_ready(self, seconds: float = 60.0) -> SeenEvent | None:
        """Until it is Ready; the event that said so, if it was not Ready before."""
        self.nodes.until(lambda: is_ready(self.nodes.now.get(f"/{NODE}")), "the node Ready", seconds)
        return next((one for one in self.nodes.events if is_ready(one.obj)), None)

    def transitions(self) -> list[str]:
        """Each change of the condition Ready that was seen, with the reason."""
        seen: list[str] = []
        for one in list(self.nodes.events):
            found = condition(one.obj, "Ready")
            text = f"{found.get('status')} {found.get('reason')}"
            if not seen or seen[-1] != text:
                seen.append(text)
        return seen

    # -- pods -----------------------------------------------------------------------------------------------------
    def create(self, *made: Obj) -> list[str]:
        for one in made:
            whole = {**one, "spec": {"nodeName": NODE, **one["spec"]}}
            try:
                self.api.call("POST", PODS, whole)
            except Unreachable:  # the test has cut the connection
                with suppress(AlreadyExists):
                    self.api.call("POST", PODS, whole)
        return [one["metadata"]["name"] for one in made]

    def delete(self, name: str, grace: int | None = None) -> None:
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        with suppress(Unreachable):
            self.api.call("DELETE", f"{PODS}/{name}", body)
            return
        self.api.call("DELETE", f"{PODS}/{name}", body)

    def pod(self, name: str) -> Obj:
        """As it is at the API; empty when it is not."""
        return self.pods.now.get(f"default/{name}", {})

    def wait_phase(self, name: str, phase: str, seconds: float = 60.0) -> Obj:
        self.pods.until(lambda: status(self.pod(name)).get("phase") == phase, f"{name} {phase}", seconds)
        return self.pod(name)

    def wait_pods_ready(self, *names: str, seconds: float = 60.0) -> None:
        def ready(name: str) -> bool:
            return condition(self.pod(name), "Ready").get("status") == "True"

        self.pods.until(lambda: all(ready(name) for name in names), f"ready: {names}", seconds)

    def wait_no_pod(self, *names: str, seconds: float = 60.0) -> None:
        self.pods.until(lambda: not any(self.pod(name) for name in names), f"no more at the API: {names}", seconds)

    def restarts(self) -> dict[str, int]:
        """Restart counts at the API."""
        return {
            key: sum(one["restartCount"] for one in status(found).get("containerStatuses", []))
            for key, found in self.pods.now.items()
        }

    def kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0) -> str:
        return self.cluster.kubectl(*arguments, data=data, seconds=seconds)

    def clear(self) -> None:
        """Delete every pod of the node, with force for those that stay."""
        for found in list(self.pods.now.values()):
            if "kubernetes.io/config.mirror" not in found["metadata"].get("annotations", {}):
                path = f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{found['metadata']['name']}"
                with suppress(NotFound):  # a controller was faster
                    self.api.call("DELETE", path, {"gracePeriodSeconds": 1})
        self.pods.until(lambda: not self.pods.now, "all pods gone", self.clear_seconds)


class Joined(JoinedView):
    """Cluster and agent, and what is watched of both by an administrator."""

    def __init__(self, cluster: Cluster, node: JoinedNode, api: ApiConnection) -> None:
        super().__init__(cluster, api)
        self.node = node

    def running_ids(self) -> dict[str, str]:
        """Container ids of what runs, by `pod/container`, from the runtime."""
        return {
            f"{one.pod_name}/{one.name}": one.id
            for one in self.node.containers()
            if one.state is CriContainerState.RUNNING
        }


def status(obj: Obj | None) -> Obj:
    return (obj or {}).get("status") or {}


def condition(obj: Obj | None, kind: str) -> Obj:
    """Empty if there is none of this type."""
    return next((one for one in status(obj).get("conditions") or [] if one["type"] == kind), {})


def is_ready(node: Obj | None) -> bool:
    return condition(node, "Ready").get("status") == "True"


def account_token(joined: Joined, name: str) -> str:
    """A token of a new service account."""
    joined.api.call("POST", ACCOUNTS, {"metadata": {"name": name}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(joined.api.call("POST", f"{ACCOUNTS}/{name}/token", asked)["status"]["token"])


@contextmanager
def cluster_running(folder: Path, **options: Any) -> Iterator[Cluster]:
    """The real one, if there is one, else the API server for tests."""
    if path := os.environ.get(KUBECONFIG):
        yield RealCluster(path, folder)
        return
    with ApiProcess(folder, NODE, **options) as server:
        yield server


_serving: dict[str, str] = {}
"""The node of each runtime, by its socket."""


@contextmanager
def _alone(runtime: RealRuntime, name: str) -> Iterator[None]:
    other = _serving.setdefault(runtime.socket, name)
    assert other == name, f"the agent of {other} runs on this runtime, and would end the pods of {name}"
    try:
        yield
    finally:
        del _serving[runtime.socket]


@contextmanager
def joined(runtime: RealRuntime, name: str = "joined", **more: Any) -> Iterator[Joined]:
    """A node that is Ready, the only one of its runtime: two agents end each other's pods. `more`: fields of the
    agent's configuration, and `heartbeat_seconds`."""
    with (
        _alone(runtime, name),
        cluster_running(runtime.base / f"{name}-api") as cluster,
        ApiConnection(cluster.admin) as api,
    ):
        if isinstance(cluster, RealCluster):
            cluster.forget(NODE)
        node = JoinedNode(runtime, cluster, name, **more)
        try:
            found = Joined(cluster, node, api)
            node.start()
            found.wait_ready()
            yield found
            found.clear()
        except AssertionError as error:
            error.add_note(f"the agent's last words:\n{node.last_words()}")
            raise
        finally:
            if isinstance(cluster, RealCluster):  # also after a failure: the next test may make the same
                api.delete_made()
            node.remove()
