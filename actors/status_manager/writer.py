"""Brings the API server up to what the status manager knows: performs the steps of `PodTable`, some at a time.

A status is written without reading the pod first: it is made from the version that the watch has shown, and carries
that version, so that the server refuses it when there is a newer one. Then the pod is read and the write made anew, as
the reference always does. What fails is tried again; what is not needed any more by then is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from actors.api_clients.messages import KUBE_CLIENT, ApiAnswer, ApiCall, GetObject, ObjectRef, ObjectState
from actors.shared.kube import codec
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.pod import PodStatus
from supervision.actor import AskError, Timer

from . import api_pods, patch
from .api_pods import ApiPod
from .backlog import Backlog, Pause
from .known import Delete, Known, Patch, Step
from .mirror import is_mirror_of, mirror_pod

if TYPE_CHECKING:
    from .actor import StatusManager

CALL_SECONDS: Final = 10.0
NODE_SECONDS: Final = 0.5
"""A node that is about to register is soon there."""
MAX_SECONDS: Final = 60.0
STRATEGIC: Final = "application/strategic-merge-patch+json"
SYNC_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60)
AWAY: Final = (0, 401, 429, 503, 504)
"""No answer, or one that says nothing of the pod: everybody waits."""
CONFLICT: Final = 409
NOT_FOUND: Final = 404
NODE_MISSING: Final = "NodeMissing"


class Writer:
    """One for the status manager, when there is an API server."""

    def __init__(self, manager: StatusManager, node_name: str) -> None:
        self._manager, self._node_name = manager, node_name
        self._table = manager.table
        self.backlog = Backlog()
        self._timer: Timer | None = None
        self._complaints: dict[str, str] = {}
        """What went wrong last of each key, so that it is said once."""

    # -- what is to be written ------------------------------------------------------------------------------------
    def consider(self, key: str) -> None:
        """Something of this pod has changed here or there."""
        step = self._table.step(key)
        if step is None:
            self._drop(key)
            self._settled(key)
            return
        known = self._table.known.get(key)
        if known is not None and known.changed_at is None:
            known.changed_at = self._now()
        self.backlog.add(key, step.priority, self._now())
        self._pump()

    def consider_all(self) -> None:
        for key in [*self._table.known, *self._table.orphans]:
            self.consider(key)

    def server_is_back(self) -> None:
        self.backlog.server_is_back()
        self._pump()

    def _settled(self, key: str) -> None:
        known = self._table.known.get(key)
        if known is not None:
            known.changed_at = None

    def _now(self) -> float:
        return self._manager.monotonic()

    def _pump(self) -> None:
        while (key := self.backlog.take(self._now())) is not None:
            self._manager.start_task(self._write(key), f"status of {key}")
        self._manager.metrics.gauge("status_manager_unwritten_pods", len(self.backlog))
        due = self.backlog.next_due()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None and due > self._now():
            self._timer = self._manager.after(due - self._now(), self._pump)

    async def _write(self, key: str) -> None:
        step = self._table.step(key)
        failure = await self._perform(step) if step is not None else None
        if step is None or failure is None:
            self.backlog.succeeded(key)
            for each in (key, ""):
                self._complaints.pop(each, None)
        else:
            self._failed(key, step, failure)
        self._reconsider(key)
        self._pump()

    def _reconsider(self, key: str) -> None:
        step = self._table.step(key)
        if step is None:
            self._drop(key)
        else:
            self.backlog.add(key, step.priority, self._now())

    def _drop(self, key: str) -> None:
        """Nothing is to be written of it (any more)."""
        self.backlog.drop(key)
        self._complaints.pop(key, None)

    # -- writing --------------------------------------------------------------------------------------------------
    async def _perform(self, step: Step) -> ApiAnswer | None:
        """One step; the answer that it failed with, None if it did not."""
        if isinstance(step, Patch):
            return await self._patch(step)
        if isinstance(step, Delete):
            return await self._delete(step.pod)
        return await self._create(step.static)

    async def _patch(self, step: Patch) -> ApiAnswer | None:
        known = self._table.owner(step.pod)
        if known is None or known.status is None:
            return None
        sent, before = known.status, self._table.api.get(step.pod.uid)
        answer = await self._send(step, exact=True)
        if answer.status == CONFLICT:
            fresh = await self._read(step.pod)
            again = self._table.step(known.uid)
            if fresh is not None or not isinstance(again, Patch):
                return fresh
            step, sent, before = again, known.status, self._table.api.get(again.pod.uid)
            answer = await self._send(step, exact=False)
        if answer.ok:
            self._written(known, sent, answer, before)
        return self._unless_gone(step.pod, answer)

    async def _send(self, step: Patch, *, exact: bool) -> ApiAnswer:
        content = patch.body(step.pod, step.fields, exact=exact)
        path = f"{_path(step.pod)}/status"
        answer = await self._call(ApiCall(method="PATCH", path=path, body=content, content_type=STRATEGIC))
        self._manager.metrics.count("status_manager_status_writes_total", code=str(answer.status))
        return answer

    def _written(self, known: Known, sent: PodStatus, answer: ApiAnswer, before: ApiPod | None) -> None:
        theirs = self._take(answer, before)
        if theirs is None:
            return
        known.tolerated = patch.status_patch(sent, theirs.status)
        if known.tolerated:
            self._manager.log.info("pod %s: the API server has changed %s", known.full_name, sorted(known.tolerated))
        if known.changed_at is not None and not isinstance(self._table.step(known.uid), Patch):
            seconds = self._now() - known.changed_at
            self._manager.metrics.observe("kubelet_pod_status_sync_duration_seconds", seconds, SYNC_BUCKETS)
            known.changed_at = None

    async def _delete(self, pod: ApiPod) -> ApiAnswer | None:
        before = self._table.api.get(pod.uid)
        answer = await self._call(ApiCall(method="DELETE", path=_path(pod), body=_now_and_only(pod)))
        if answer.status == CONFLICT:
            return await self._read(pod)
        if answer.ok:
            self._manager.log.info("pod %s (%s): deleted from the API server", pod.full_name, pod.uid)
            self._table.asked_to_delete(pod, self._take(answer, before))
        return self._unless_gone(pod, answer)

    async def _create(self, known: Known) -> ApiAnswer | None:
        node = await self._node_uid()
        if isinstance(node, ApiAnswer):
            return node
        body = mirror_pod(known.seen.pod, self._node_name, node)
        meta = known.pod.metadata
        path = f"/api/v1/namespaces/{quote(meta.namespace, safe='')}/pods"
        answer = await self._call(ApiCall(method="POST", path=path, body=body))
        if answer.status == CONFLICT:
            answer = await self._call(ApiCall(method="GET", path=f"{path}/{quote(meta.name, safe='')}"))
        if not answer.ok:
            return answer
        found = self._take(answer, None, new=True)
        if found is not None and found.is_mirror and is_mirror_of(found, known.pod):
            self._manager.log.info("pod %s: its mirror pod is %s", known.full_name, found.uid)
            return None
        taken = "another pod has the name of this static pod at the API server"
        return ApiAnswer(status=CONFLICT, reason="AlreadyExists", message=taken)

    async def _node_uid(self) -> str | ApiAnswer:
        """UID of the node object, which a mirror pod belongs to; why there is none."""
        question = GetObject(ObjectRef("Node", self._node_name), wait=0.0)
        try:
            state = await self._manager.ask(KUBE_CLIENT, question, ObjectState, timeout=CALL_SECONDS)
        except AskError as error:
            return ApiAnswer(status=0, reason="NoClient", message=str(error))
        if not state.body:
            status = 404 if state.reason in ("NotFound", "") else 0
            return ApiAnswer(status=status, reason=NODE_MISSING, message=f"{state.reason} {state.message}".strip())
        node = api_pods.read(state.body).metadata
        if node.deletionTimestamp is not None:
            return ApiAnswer(status=404, reason=NODE_MISSING, message="the node is being deleted")
        return node.uid

    async def _read(self, pod: ApiPod) -> ApiAnswer | None:
        """Read the pod; None when that has shown what there is."""
        before = self._table.api.get(pod.uid)
        answer = await self._call(ApiCall(method="GET", path=_path(pod)))
        if answer.ok:
            found = self._take(answer, before, new=True)
            if found is not None and found.uid != pod.uid:
                self._table.api.drop(pod.uid)
            return None
        return self._unless_gone(pod, answer)

    async def _call(self, question: ApiCall) -> ApiAnswer:
        try:
            return await self._manager.ask(KUBE_CLIENT, question, ApiAnswer, timeout=question.timeout + 1.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="NoClient", message=str(error))

    def _take(self, answer: ApiAnswer, before: ApiPod | None, *, new: bool = False) -> ApiPod | None:
        """The pod of the answer, which is newer than what was known `before` the question, and maybe older than what
        the watch has shown since; one that the watch does not show (any more) only if it is `new`."""
        try:
            pod = api_pods.read(answer.body)
        except ObjectError as error:
            self._manager.log.warning("the API server's answer cannot be read: %s", error)
            return None
        if not pod.uid or not (new or self._table.api.get(pod.uid)):
            return None
        self._table.api.put(pod, before)
        return pod

    def _unless_gone(self, pod: ApiPod, answer: ApiAnswer) -> ApiAnswer | None:
        """The answer if it is a failure; a pod that is not there has nothing more to be done for."""
        if answer.status == NOT_FOUND:
            self._table.api.drop(pod.uid)
        return None if answer.ok or answer.status == NOT_FOUND else answer

    # -- failures -------------------------------------------------------------------------------------------------
    def _failed(self, key: str, step: Step, answer: ApiAnswer) -> None:
        at_most = NODE_SECONDS if answer.reason == NODE_MISSING else MAX_SECONDS
        pause = Pause(self._manager.rng.random, answer.retry_after, at_most)
        if answer.status in AWAY and answer.reason != NODE_MISSING:
            seconds = self.backlog.server_failed(key, step.priority, self._now(), pause)
            key = ""
        else:
            seconds = self.backlog.failed(key, step.priority, self._now(), pause)
        text = f"{type(step).__name__} {answer.status} {answer.reason}: {answer.message}"
        if self._complaints.get(key) != text:
            self._complaints[key] = text
            known = self._table.known.get(key)
            subject = f"pod {known.full_name if known is not None else key}" if key else "all pods"
            self._manager.log.info("%s: the API server is asked again in %.1f s: %s", subject, seconds, text)


def _path(pod: ApiPod) -> str:
    namespace, name = quote(pod.metadata.namespace, safe=""), quote(pod.metadata.name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _now_and_only(pod: ApiPod) -> bytes:
    """DeleteOptions: at once, and no other pod of that name."""
    preconditions = {"uid": pod.uid}
    return codec.encode(
        {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": preconditions}
    )
