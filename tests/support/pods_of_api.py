"""The API server's pods as the status manager's neighbour kube_client would pass them on: in memory, with faults.

It knows what the status manager sends: PATCH of a status (strategic merge: conditions by type, addresses by ip with
`$patch: replace`, other lists atomic; preconditions on uid and resourceVersion), GET, DELETE with preconditions, POST.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from actors.api_clients.messages import ApiAnswer, ApiCall, GetObject, ObjectState
from actors.pod_config.messages import SourcePod, SourcePods
from supervision.harness import Harness
from tests.support.apiserver.strategic import strategic_merge


class ApiPodStore:
    """Pods by (namespace, name). `faults` is asked first, with the call: an answer from it stands."""

    def __init__(self) -> None:
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.calls: list[ApiCall] = []
        self.faults: Callable[[ApiCall], ApiAnswer | None] = lambda call: None
        self.node: dict[str, Any] | None = {"metadata": {"name": "node-1", "uid": "node-uid"}}
        self.version = 100
        self.gone: list[str] = []
        self.history: dict[str, list[dict[str, Any]]] = {}
        """Every status that a pod has had, by UID."""

    # -- what others do at the server -------------------------------------------------------------------------------
    def put(self, pod: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        pod["metadata"]["resourceVersion"] = str(self.version)
        self.pods[pod["metadata"]["namespace"], pod["metadata"]["name"]] = pod
        self.history.setdefault(pod["metadata"]["uid"], []).append(json.loads(json.dumps(pod.get("status", {}))))
        return pod

    def touch(self, pod: dict[str, Any]) -> dict[str, Any]:
        return self.put(pod)

    def find(self, name: str, namespace: str = "n") -> dict[str, Any]:
        return self.pods[namespace, name]

    def has(self, name: str, namespace: str = "n") -> bool:
        return (namespace, name) in self.pods

    # -- what the status manager is told ----------------------------------------------------------------------------
    def serve(self, harness: Harness) -> None:
        harness.answer(ApiCall, self.answer)
        harness.answer(GetObject, self.get_object)

    async def sync(self, harness: Harness) -> None:
        await harness.deliver(SourcePods("api", [_json(pod) for pod in self.pods.values()]))

    async def watch(self, harness: Harness, name: str, namespace: str = "n") -> None:
        pod = self.find(name, namespace)
        await harness.deliver(SourcePod("api", pod["metadata"]["uid"], _json(pod)))

    # -- kube_client's side -----------------------------------------------------------------------------------------
    def get_object(self, question: GetObject) -> ObjectState:
        if self.node is None:
            return ObjectState(question.ref, reason="NotFound")
        return ObjectState(question.ref, _json(self.node))

    def answer(self, call: ApiCall) -> ApiAnswer:
        self.calls.append(call)
        found = self.faults(call)
        if found is not None:
            return found
        parts = [unquote(part) for part in call.path.split("/")]
        namespace = parts[4]
        if call.method == "POST":
            return self._create(json.loads(call.body), namespace)
        pod = self.pods.get((namespace, parts[6]))
        if pod is None:
            return ApiAnswer(status=404, reason="NotFound")
        if call.method == "GET":
            return ApiAnswer(status=200, body=_json(pod))
        body = json.loads(call.body)
        if call.method == "DELETE":
            return self._delete(pod, body)
        assert parts[7] == "status"
        assert call.content_type == "application/strategic-merge-patch+json"
        return self._patch(pod, body)

    def _create(self, pod: dict[str, Any], namespace: str) -> ApiAnswer:
        if (namespace, pod["metadata"]["name"]) in self.pods:
            return ApiAnswer(status=409, reason="AlreadyExists")
        pod["metadata"]["uid"] = f"made-{self.version}"
        pod["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
        return ApiAnswer(status=201, body=_json(self.put(pod)))

    def _delete(self, pod: dict[str, Any], options: dict[str, Any]) -> ApiAnswer:
        assert options["gracePeriodSeconds"] == 0
        meta = pod["metadata"]
        if options["preconditions"]["uid"] != meta["uid"]:
            return ApiAnswer(status=409, reason="Conflict")
        if meta.get("finalizers"):
            meta["deletionGracePeriodSeconds"] = 0
            return ApiAnswer(status=200, body=_json(self.put(pod)))
        del self.pods[meta["namespace"], meta["name"]]
        self.gone.append(meta["uid"])
        return ApiAnswer(status=200, body=_json(pod))

    def _patch(self, pod: dict[str, Any], patch: dict[str, Any]) -> ApiAnswer:
        assert set(patch) == {"metadata", "status"}
        for key, value in patch["metadata"].items():
            if pod["metadata"][key] != value:
                return ApiAnswer(status=409, reason="Conflict", message=key)
        pod["status"] = strategic_merge("Pod", pod.get("status") or {}, patch["status"])
        return ApiAnswer(status=200, body=_json(self.put(pod)))

    def sent(self, method: str) -> list[dict[str, Any]]:
        """The bodies of the calls of that method."""
        return [json.loads(call.body) for call in self.calls if call.method == method]


def _json(thing: Any) -> bytes:
    return json.dumps(thing).encode()
