"""The pods API over gRPC. Imported for the first client: gRPC and protobuf cost memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import grpc
import grpc.aio

from actors.shared import grpc_server
from actors.shared.token_bucket import TokenBucket
from proto import pods_api_pb2 as api
from proto import pods_api_pb2_grpc as stubs
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

from .encoding import encoded
from .pods_of_node import PodsOfNode, WatchedChange
from .watches import MOST_WATCHES, TooManyWatches, Watches

R = TypeVar("R")
Context = grpc.aio.ServicerContext[Any, Any]
VERSION: Final = "v1alpha1"
CALLS_AT_ONCE: Final = 2 * MOST_WATCHES
CODES: Final = {
    grpc.StatusCode.FAILED_PRECONDITION: "FailedPrecondition",
    grpc.StatusCode.NOT_FOUND: "NotFound",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
}
"""The names of calls in the kubelet's metrics."""
ENDED_BY_CALLER: Final = "Canceled"
SYNCED: Final = api.WatchPodsEvent(type=api.INITIAL_SYNC_COMPLETE)


class RefusedCall(Exception):
    """A call is refused; the status and the text are for the caller."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


async def serve(service: PodsApi, path: str) -> grpc.aio.Server:
    """Start the server of it on a Unix socket. Raises OSError, as `grpc_server.serve`."""
    return await grpc_server.serve(path, partial(stubs.add_PodsServicer_to_server, service), CALLS_AT_ONCE)


class PodsApi(stubs.PodsServicer):
    """Answers with the pods that the status manager has sent. Metrics are the kubelet's."""

    def __init__(self, actor: Actor, pods: PodsOfNode, bucket: TokenBucket) -> None:
        self._actor, self._pods, self._bucket = actor, pods, bucket
        self._watches = Watches[WatchedChange]()
        self._warnings = RepeatedWarnings(actor.log)

    def tell(self, event: WatchedChange) -> None:
        """Send the change to every watch."""
        dropped = self._watches.tell(event)
        if dropped:
            self._actor.metrics.count("kubelet_pod_watch_events_dropped_total", dropped)

    # -- calls --------------------------------------------------------------------------------------------------------
    async def ListPods(self, request: Any, context: Context) -> api.ListPodsResponse:
        async def answer() -> api.ListPodsResponse:
            self._take()
            self._check()
            found = []
            for pod in self._pods.all():
                found.append(self._encode(pod))
                await asyncio.sleep(0)  # serve other callers in between
            return api.ListPodsResponse(pods=found)

        return await self._count_call("list", context, answer)

    async def GetPod(self, request: api.GetPodRequest, context: Context) -> api.GetPodResponse:
        async def answer() -> api.GetPodResponse:
            self._take()
            self._check()
            pod = self._pods.get(request.podUID)
            if pod is None:
                raise RefusedCall(grpc.StatusCode.NOT_FOUND, f"pod with UID {request.podUID} not found")
            return api.GetPodResponse(pod=self._encode(pod))

        return await self._count_call("get", context, answer)

    async def WatchPods(self, request: Any, context: Context) -> AsyncIterator[api.WatchPodsEvent]:
        code = ENDED_BY_CALLER
        try:
            self._check()
            async for event in self._watch_events():
                yield event
            raise RefusedCall(grpc.StatusCode.RESOURCE_EXHAUSTED, "watch client channel closed")
        except RefusedCall as refused:
            code = CODES[refused.code]
            await context.abort(refused.code, refused.text)
        finally:
            self._count("watch", code)

    async def _watch_events(self) -> AsyncIterator[api.WatchPodsEvent]:
        """The changes for one watch. Ends when the client is too far behind. Raises RefusedCall."""
        try:
            with self._watches.open() as watch:
                for pod in self._pods.all():
                    yield self._event(WatchedChange("ADDED", pod))
                yield SYNCED
                while (event := await watch.next()) is not None:
                    yield self._event(event)
        except TooManyWatches:
            raise RefusedCall(grpc.StatusCode.RESOURCE_EXHAUSTED, f"there are {MOST_WATCHES} watches") from None

    # -- each call ----------------------------------------------------------------------------------------------------
    async def _count_call(self, call: str, context: Context, answer: Callable[[], Awaitable[R]]) -> R:
        code = ENDED_BY_CALLER
        try:
            found = await answer()
            code = "OK"
            return found
        except RefusedCall as refused:
            code = CODES[refused.code]
            await context.abort(refused.code, refused.text)
        finally:
            self._count(call, code)

    def _count(self, call: str, code: str) -> None:
        for name in ("total", f"{call}_total"):
            self._actor.metrics.count(f"kubelet_pod_requests_{name}", server_api_version=VERSION, status_code=code)

    def _take(self) -> None:
        """Raises RefusedCall when there are too many calls."""
        if not self._bucket.take(time.monotonic()):
            raise RefusedCall(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")

    def _check(self) -> None:
        """Raises RefusedCall while pods may be missing."""
        if not self._pods.complete:
            raise RefusedCall(grpc.StatusCode.FAILED_PRECONDITION, "Kubelet is initializing")

    def _event(self, event: WatchedChange) -> api.WatchPodsEvent:
        return api.WatchPodsEvent(type=api.EventType.Value(event.kind), pod=self._encode(event.pod))

    def _encode(self, pod: bytes) -> bytes:
        found = encoded(pod)
        for path in found.left_out:
            self._warnings.warn(path, f"the pods API leaves out a field whose value is of another type: {path}")
        return found.data
