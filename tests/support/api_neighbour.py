"""kube_client as the other actors meet it: their calls reach the API server of the tests, without a network.

The rules are the server's own, and the caller is the node `node-1`. What others do at the server goes straight into its
store, as objects, so that a test decides UIDs, times and statuses.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall, GetObject, ObjectState
from actors.pod_config.messages import SourcePod, SourcePods
from supervision.testing.harness import Harness
from tests.support.apiserver.authorizer import Attributes, Authorizer
from tests.support.apiserver.errors import StatusError
from tests.support.apiserver.faults import Fault, Faults
from tests.support.apiserver.objects import Obj, copy
from tests.support.apiserver.options import Options
from tests.support.apiserver.registry import Registry
from tests.support.apiserver.request import Answer, Drop, Reply, Request, Target, User, target_of
from tests.support.apiserver.storage import Store
from tests.support.apiserver.tokens import Tokens
from tests.support.apiserver.verbs import Verbs

NODE = "node-1"
UNREACHABLE = ApiAnswer(status=0, reason="Unreachable")
_NODE_KEY = ("nodes", "", NODE)


class ApiNeighbour:
    """Pods of the node are those in the namespaces that `put` has seen; `n` is always there."""

    def __init__(self) -> None:
        self._store = Store()
        options = Options(service_accounts=False, scheduler=False, node_lifecycle=False)
        self.faults = Faults()
        self._verbs = Verbs(Registry(self._store), Tokens(self._store), options, self.faults)
        self._authorizer = Authorizer(self._store)
        self.calls: list[ApiCall] = []
        self.node = {"metadata": {"name": NODE, "uid": "node-uid"}}
        self._namespace("n")

    def _namespace(self, name: str) -> None:
        if self._store.get(("namespaces", "", name)) is None:
            self._store.put(("namespaces", "", name), {"metadata": {"name": name, "uid": name}})

    # -- what others do at the server -------------------------------------------------------------------------------
    def put(self, pod: Obj) -> Obj:
        """Whatever it is, as the administrator of a cluster with other rules could have it. A copy of what is kept."""
        made = {"kind": "Pod", "apiVersion": "v1", **copy(pod)}
        made.setdefault("spec", {}).setdefault("nodeName", NODE)
        made.setdefault("status", {"phase": "Pending", "qosClass": "BestEffort"})
        metadata = made["metadata"]
        self._namespace(metadata["namespace"])
        self._store.put(("pods", metadata["namespace"], metadata["name"]), made)
        pod["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        return pod

    def remove(self, name: str, namespace: str = "n") -> None:
        self._store.remove(("pods", namespace, name))

    @property
    def node(self) -> Obj | None:
        """The node's object; None: there is none."""
        return copy(self._store.get(_NODE_KEY))  # type: ignore[no-any-return]

    @node.setter
    def node(self, node: Obj | None) -> None:
        if node is None:
            self._store.remove(_NODE_KEY)
        else:
            self._store.put(_NODE_KEY, {"kind": "Node", "apiVersion": "v1", **copy(node)})

    @property
    def version(self) -> int:
        """Of the last change; lower than before: the server was restored from a backup."""
        return self._store.revision

    @version.setter
    def version(self, version: int) -> None:
        self._store.revision = version

    # -- what there is ------------------------------------------------------------------------------------------------
    @property
    def pods(self) -> dict[tuple[str, str], Obj]:
        """By namespace and name."""
        found = copy(self._store.items("pods"))
        return {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in found}

    def find(self, name: str, namespace: str = "n") -> Obj:
        """A copy. Raises KeyError."""
        return self.pods[namespace, name]

    def has(self, name: str, namespace: str = "n") -> bool:
        return self._store.get(("pods", namespace, name)) is not None

    @property
    def gone(self) -> list[str]:
        """UIDs of the pods that were deleted, the first one first."""
        return [one.obj["metadata"]["uid"] for one in self._store.since("pods", 0) or [] if one.kind == "DELETED"]

    @property
    def history(self) -> dict[str, list[Obj]]:
        """Every status that a pod has had, by UID."""
        found: dict[str, list[Obj]] = {}
        for one in self._store.since("pods", 0) or []:
            if one.kind != "DELETED":
                found.setdefault(one.obj["metadata"]["uid"], []).append(copy(one.obj.get("status", {})))
        return found

    def sent(self, method: str) -> list[Obj]:
        """The bodies of the calls of that method."""
        return [msgspec.json.decode(call.body) for call in self.calls if call.method == method]

    # -- what the actor is told ---------------------------------------------------------------------------------------
    def serve(self, harness: Harness) -> None:
        harness.answer(ApiCall, self.answer)
        harness.answer(GetObject, self.get_object)

    async def sync(self, harness: Harness) -> None:
        await harness.deliver(SourcePods("api", [msgspec.json.encode(pod) for pod in self.pods.values()]))

    async def watch(self, harness: Harness, name: str, namespace: str = "n") -> None:
        pod = self.find(name, namespace)
        await harness.deliver(SourcePod("api", pod["metadata"]["uid"], msgspec.json.encode(pod)))

    # -- kube_client's side -------------------------------------------------------------------------------------------
    def fault(self, kind: str, **fields: Any) -> Fault:
        """Orders a Fault of the server; one that takes time is not for here."""
        return self.faults.add(Fault(kind, **fields))

    def get_object(self, question: GetObject) -> ObjectState:
        found = self.node
        if found is None:
            return ObjectState(question.ref, reason="NotFound")
        return ObjectState(question.ref, msgspec.json.encode(found))

    def answer(self, call: ApiCall) -> ApiAnswer:
        """As kube_client would."""
        self.calls.append(call)
        headers = {"content-type": call.content_type, "accept": "application/json"}
        query = "&".join(f"{name}={value}" for name, value in call.query.items())
        path = f"{call.path}?{query}" if query else call.path
        user = User(f"system:node:{NODE}", ("system:nodes", "system:authenticated"))
        try:
            reply = self._reply(Request(call.method, path, headers, call.body, user))
        except StatusError as error:
            return ApiAnswer(
                status=error.code, reason=error.reason, message=error.message, retry_after=error.retry_after
            )
        if isinstance(reply, Drop):
            return UNREACHABLE
        assert isinstance(reply, Answer), "no actor has kube_client watch for it"
        return ApiAnswer(status=reply.status, body=reply.body)

    def _reply(self, request: Request) -> Reply:
        """Raises StatusError."""
        target = target_of(request)
        assert target is not None
        if (faulty := _at_once(self.faults.before(request, target))) is not None:
            return faulty
        self._authorize(request, target)
        reply = self._verbs.perform(request, target)
        return Drop() if self.faults.find(request, target, "lost") else reply

    def _authorize(self, request: Request, target: Target) -> None:
        attributes = Attributes(request.user, target.verb, target.resource.group, target.resource.plural,
                                target.subresource, target.namespace, target.name)  # fmt: skip
        if why := self._authorizer.allows(attributes):
            raise StatusError(403, why)


def _at_once(work: Coroutine[Any, Any, Reply | None]) -> Reply | None:
    """What comes of a coroutine that does not wait for anything."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise AssertionError("a fault that takes time")
