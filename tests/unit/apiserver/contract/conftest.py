"""The API server that the contract is held against: the tests' own one, and a real one where there is a kubeconfig."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api_process import ApiProcess
from tests.support.joined import KUBECONFIG, Cluster
from tests.support.raw_api import Obj, RawApi
from tests.support.real_cluster import RealCluster

SERVERS = ["fake", *(["real"] if KUBECONFIG in os.environ else [])]
NODE = "contract-node"
"""There is no such machine."""


@pytest.fixture(scope="package", params=SERVERS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("api")
    if request.param == "real":
        yield RealCluster(os.environ[KUBECONFIG], folder)
        return
    with ApiProcess(folder, NODE, scheduler=False, node_lifecycle=False) as server:
        yield server


@pytest.fixture(scope="package")
def api(cluster: Cluster) -> RawApi:
    """An administrator's requests to the server."""
    return RawApi(cluster.admin)


@pytest.fixture(scope="package")
def node(cluster: Cluster) -> RawApi:
    """Those of the node."""
    return RawApi(cluster.node_kubeconfig(NODE))


class Namespace:
    """A namespace of one test. Its service account is made here where no controller makes it."""

    def __init__(self, api: RawApi) -> None:
        self.api, self.name = api, f"contract-{uuid.uuid4().hex[:8]}"
        self.path = f"/api/v1/namespaces/{self.name}"
        api.make("/api/v1/namespaces", {"metadata": {"name": self.name}})
        if not api.until_there(f"{self.path}/serviceaccounts/default", 5.0):
            api("POST", f"{self.path}/serviceaccounts", {"metadata": {"name": "default"}})

    def of(self, plural: str, group: str = "") -> str:
        """Path of a collection."""
        return f"/apis/{group}/namespaces/{self.name}/{plural}" if group else f"{self.path}/{plural}"

    @property
    def pods(self) -> str:
        return self.of("pods")

    def pod(self, name: str = "p", **spec: Any) -> Obj:
        return self.api.make(self.pods, pod(name, **spec))

    def remove(self) -> None:
        for one in self.api.get(self.pods)["items"]:
            path = f"{self.pods}/{one['metadata']['name']}"
            self.api("PATCH", path, {"metadata": {"finalizers": None}}, form="application/merge-patch+json")
            self.api("DELETE", path, {"gracePeriodSeconds": 0})
        self.api("DELETE", self.path)


@pytest.fixture
def space(api: RawApi) -> Iterator[Namespace]:
    made = Namespace(api)
    yield made
    made.remove()


def pod(name: str = "p", **spec: Any) -> Obj:
    """One that no scheduler looks at."""
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "a", "image": "busybox:1"}], "schedulerName": "nobody", **spec},
    }
