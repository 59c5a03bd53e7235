"""Performs one step at the API server, and puts the server's answer into the API copy. A status is written without
reading the pod first. The patch is made from the version in the API copy and carries that version. If the server has a
newer one it refuses the patch; then the pod is read and the patch is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall, GetObject, ObjectRef
from actors.shared.kube import codec
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.pod import PodStatus
from supervision.actor import Actor, AskError

from ..pods import api_pods, patch
from ..pods.api_pods import ApiPod
from ..pods.mirror import is_mirror_of, mirror_pod
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod
from .steps import DeletePod, PatchStatus, Step, next_step

CALL_SECONDS: Final = 10.0
STRATEGIC: Final = "application/strategic-merge-patch+json"
CONFLICT: Final = 409
NOT_FOUND: Final = 404
UNREADABLE: Final = 500
"""Status of an answer that says that it is a success, and cannot be read."""
NODE_MISSING: Final = "NodeMissing"
"""Reason of an answer: a mirror pod waits for the node object, which owns it."""


class ApiCalls:
    """The calls of the status manager. The writer decides how many run at a time, and when."""

    def __init__(self, actor: Actor, table: PodTable, node_name: str, recompute: Callable[[str], None]) -> None:
        """`recompute` computes the status of the pod with this UID again, as the API copy has a newer version."""
        self._actor, self._table, self._node_name, self._recompute = actor, table, node_name, recompute

    async def perform(self, step: Step) -> ApiAnswer | None:
        """Perform one step. Returns the answer if it failed, else None. An answer that cannot be read is a failure:
        the API copy stays as it was, so the same step comes next, and would come without a pause."""
        try:
            return await self._perform(step)
        except ObjectError as error:
            return ApiAnswer(status=UNREADABLE, reason="Unreadable", message=f"the answer cannot be read: {error}")

    async def _perform(self, step: Step) -> ApiAnswer | None:
        if isinstance(step, PatchStatus):
            return await self._patch(step)
        if isinstance(step, DeletePod):
            return await self._delete(step.pod)
        return await self._create(step.static)

    async def _patch(self, step: PatchStatus) -> ApiAnswer | None:
        tracked = self._table.tracked_of(step.pod)
        if tracked is None or tracked.status is None:
            return None
        sent, before = tracked.status, self._table.api.get(step.pod.uid)
        answer = await self._send(step, exact=True)
        if answer.status == CONFLICT:
            failure = await self._read(step.pod)
            self._recompute(tracked.uid)
            again, newest = next_step(self._table, tracked.uid), self._table.get(tracked.uid)
            if failure is not None or not isinstance(again, PatchStatus) or newest is None or newest.status is None:
                return failure
            step, sent, before = again, newest.status, self._table.api.get(again.pod.uid)
            answer = await self._send(step, exact=False)
        if answer.ok:
            self._take_written(tracked, sent, answer, before)
        return self._unless_gone(step.pod, answer)

    async def _send(self, step: PatchStatus, *, exact: bool) -> ApiAnswer:
        content = patch.body(step.pod, step.fields, exact=exact)
        path = f"{_path(step.pod)}/status"
        answer = await self._call(ApiCall(method="PATCH", path=path, body=content, content_type=STRATEGIC))
        self._actor.metrics.count("status_manager_status_writes_total", code=str(answer.status))
        return answer

    def _take_written(self, tracked: TrackedPod, sent: PodStatus, answer: ApiAnswer, before: ApiPod | None) -> None:
        stored = self._take(answer, before)
        if stored is None:
            return
        altered = patch.status_patch(sent, stored.status)
        self._table.server_altered(tracked.uid, altered)
        if altered:
            self._actor.log.info("pod %s: the API server has changed %s", tracked.full_name, sorted(altered))

    async def _delete(self, pod: ApiPod) -> ApiAnswer | None:
        before = self._table.api.get(pod.uid)
        answer = await self._call(ApiCall(method="DELETE", path=_path(pod), body=_delete_options(pod)))
        if answer.status == CONFLICT:
            return await self._unless_there(pod, answer)
        if answer.ok:
            self._actor.log.info("pod %s (%s): deleted from the API server", pod.full_name, pod.uid)
            self._table.accept_deletion(pod, self._take(answer, before))
        if answer.status == NOT_FOUND:
            return await self._unless_there(pod, answer)
        return self._unless_gone(pod, answer)

    async def _unless_there(self, pod: ApiPod, answer: ApiAnswer) -> ApiAnswer | None:
        """Check a deletion that was answered with "not found" or a conflict: the answer, if the server still has the
        pod. Before a deletion the server looks the pod up in a cache that may not have it yet (admission plugin
        NodeRestriction).
        """
        failure = await self._read(pod)
        return failure or (answer if self._table.api.get(pod.uid) is not None else None)

    async def _create(self, static: TrackedPod) -> ApiAnswer | None:
        node = await self._node_uid()
        if isinstance(node, ApiAnswer):
            return node
        body = mirror_pod(static.observed.pod, self._node_name, node)
        meta = static.pod.metadata
        path = f"/api/v1/namespaces/{quote(meta.namespace, safe='')}/pods"
        answer = await self._call(ApiCall(method="POST", path=path, body=body))
        if answer.status == CONFLICT:
            answer = await self._call(ApiCall(method="GET", path=f"{path}/{quote(meta.name, safe='')}"))
        if not answer.ok:
            return answer
        found = self._take(answer, None, new=True)
        if found is not None and found.is_mirror and is_mirror_of(found, static.pod):
            self._actor.log.info("pod %s: its mirror pod is %s", static.full_name, found.uid)
            return None
        name_conflict = "another pod has the name of this static pod at the API server"
        return ApiAnswer(status=CONFLICT, reason="AlreadyExists", message=name_conflict)

    async def _node_uid(self) -> str | ApiAnswer:
        """The UID of the node object, which owns a mirror pod; or the failed answer."""
        question = GetObject(ObjectRef("Node", self._node_name), wait=0.0)
        try:
            state = await self._actor.ask(KUBE_CLIENT, question, timeout=CALL_SECONDS)
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
        """Read the pod into the API copy; the answer if that failed."""
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
            return await self._actor.ask(KUBE_CLIENT, question, timeout=question.timeout + 1.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="NoClient", message=str(error))

    def _take(self, answer: ApiAnswer, before: ApiPod | None, *, new: bool = False) -> ApiPod | None:
        """Put the pod of the answer into the API copy if it is newer there. `before`: the pod in the copy when the
        request was sent. A pod that the watch does not show, or no longer, is taken only if it is `new`. Raises
        ObjectError.
        """
        pod = api_pods.read(answer.body)
        if not pod.uid or not (new or self._table.api.get(pod.uid)):
            return None
        self._table.api.put(pod, before)
        return pod

    def _unless_gone(self, pod: ApiPod, answer: ApiAnswer) -> ApiAnswer | None:
        """The answer if it is a failure; a missing pod is none."""
        if answer.status == NOT_FOUND:
            self._table.api.drop(pod.uid)
        return None if answer.ok or answer.status == NOT_FOUND else answer


def _path(pod: ApiPod) -> str:
    namespace, name = quote(pod.metadata.namespace, safe=""), quote(pod.metadata.name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _delete_options(pod: ApiPod) -> bytes:
    """Options to delete this pod at once, and no other pod of that name."""
    preconditions = {"uid": pod.uid}
    return codec.encode(
        {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": preconditions}
    )
