"""The API server that the contract is held against: the tests' own one, and a real one where there is a kubeconfig."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api_process import ApiProcess
from tests.support.joined import KUBECONFIG
from tests.support.raw_api import Obj, RawApi

SERVERS = ["fake", *(["real"] if KUBECONFIG in os.environ else [])]


@pytest.fixture(scope="package", params=SERVERS)
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawApi]:
    """An administrator's requests to the server."""
    if request.param == "real":
        yield RawApi(os.environ[KUBECONFIG])
        return
    with ApiProcess(tmp_path_factory.mktemp("api"), scheduler=False) as server:
        yield RawApi(server.admin)


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
