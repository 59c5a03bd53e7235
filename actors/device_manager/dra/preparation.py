"""Prepares and unprepares the claims of pods. One operation for a pod and for a claim at a time.

The file records that the pod uses the claim before a driver is called: a claim is unprepared once, even after a crash
in between.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiCall
from actors.shared.api.permission import when_permitted
from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod
from actors.shared.kube.resource_claim_objects import ResourceClaim
from actors.shared.kube.resource_claims import CLAIMS, ClaimName, ResourceClaimError, check_claim, claim_names
from supervision.actor import Actor, AskError

from .batches import ClaimRef, batches, check_answer
from .claim_store import ClaimStore
from .claims import ClaimInfo, ClaimKey, claim_info

if TYPE_CHECKING:
    from .connection import DraConnection

CALL_SECONDS = 15.0
Find = Callable[[str], "DraConnection"]
"""The connection to a driver. Raises ResourceClaimError."""


class Preparation:
    """`extended`: gate DRAExtendedResource. `find` gives the connection to a driver, or raises ResourceClaimError."""

    def __init__(self, actor: Actor, store: ClaimStore, find: Find, *, extended: bool) -> None:
        self._actor, self._store, self._find, self._extended = actor, store, find, extended
        self._pods, self._claims = KeyedLocks(), KeyedLocks()

    # -- prepare -----------------------------------------------------------------------------------------------------
    async def prepare(self, pod: Pod) -> None:
        """All claims of the pod. Raises ResourceClaimError."""
        async with self._pods.hold(pod.metadata.uid):
            try:
                await self._timed("PrepareResources", self._prepare(pod))
            except (ResourceClaimError, ObjectError) as error:
                raise ResourceClaimError(f"prepare dynamic resources: {error}") from None

    async def _prepare(self, pod: Pod) -> None:
        """Raises ResourceClaimError, ObjectError."""
        found = [await self._usable(pod, name) for name in claim_names(pod, extended=self._extended)]
        keys = [claim.key for claim in found]
        async with self._lock_claims(keys):
            claims = self._store.claims
            for claim in found:
                claims = claims.used_by(claim, pod.metadata.uid)
            self._store.save(claims, "ResourceClaim cache")
            todo = {claim.key: claim for key in keys if not (claim := claims.by_key[key]).prepared}
            for driver, refs in batches(todo.values()).items():
                await self._prepare_batch(driver, refs)
            self._store.save(self._store.claims.prepared(todo))

    async def _usable(self, pod: Pod, name: ClaimName) -> ClaimInfo:
        """The claim, which this pod may use and whose drivers are all there. Raises ResourceClaimError, ObjectError."""
        claim = await self._fetch(pod.metadata.namespace, name.name)
        check_claim(pod, name, claim)
        info = claim_info(claim)
        for driver in info.drivers:
            self._find(driver)
        return info

    async def _fetch(self, namespace: str, name: str) -> ResourceClaim:
        """Raises ResourceClaimError, ObjectError."""
        path = f"{CLAIMS}/namespaces/{quote(namespace, safe='')}/resourceclaims/{quote(name, safe='')}"
        try:
            call = ApiCall(method="GET", path=path)
            answer = await when_permitted(lambda: self._actor.ask(KUBE_CLIENT, call, timeout=CALL_SECONDS))
        except AskError as error:
            raise ResourceClaimError(f"fetch ResourceClaim {name}: {KUBE_CLIENT}: {error}") from None
        if not answer.ok:
            raise ResourceClaimError(f"fetch ResourceClaim {name}: {answer.message or answer.reason}")
        return decode(answer.body, ResourceClaim)

    async def _prepare_batch(self, driver: str, refs: list[ClaimRef]) -> None:
        """Raises ResourceClaimError."""
        errors, devices = await self._find(driver).prepare(refs)
        check_answer("NodePrepareResources", refs, errors)
        claims = self._store.claims
        for ref in refs:
            claims = claims.with_devices((ref.namespace, ref.name), driver, devices[ref.uid])
        self._store.save(claims)

    # -- unprepare ---------------------------------------------------------------------------------------------------
    async def unprepare(self, uid: str) -> None:
        """All claims of the pod with this UID that no other pod uses. Raises ResourceClaimError."""
        async with self._pods.hold(uid):
            if not self._store.claims.of_pod(uid):
                return
            try:
                await self._timed("UnprepareResources", self._unprepare(uid))
            except ResourceClaimError as error:
                raise ResourceClaimError(f"unprepare dynamic resources: {error}") from None

    async def _unprepare(self, uid: str) -> None:
        """A driver that fails costs only its own claims. Raises ResourceClaimError."""
        async with self._lock_claims(claim.key for claim in self._store.claims.of_pod(uid)):
            own, claims = [], self._store.claims
            for claim in claims.of_pod(uid):
                if claim.pods == {uid}:
                    own.append(claim)
                else:
                    claims = claims.not_used_by(claim.key, uid)
            self._store.save(claims)
            failures: dict[str, ResourceClaimError] = {}
            for driver, refs in batches(own).items():
                try:
                    check_answer("NodeUnprepareResources", refs, await self._find(driver).unprepare(refs))
                except ResourceClaimError as error:
                    failures[driver] = error
            done = [claim.key for claim in own if not claim.drivers.keys() & failures.keys()]
            self._store.save(self._store.claims.without(done))
        for failure in failures.values():
            raise failure

    @asynccontextmanager
    async def _lock_claims(self, keys: Iterable[ClaimKey]) -> AsyncIterator[None]:
        """The claims in one order for all pods, so that no deadlock is possible."""
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                await stack.enter_async_context(self._claims.hold("/".join(key)))
            yield

    async def _timed(self, operation: str, work: Coroutine[Any, Any, None]) -> None:
        started_at, failed = time.monotonic(), True
        try:
            await work
            failed = False
        finally:
            self._actor.metrics.observe(
                "dra_operations_duration_seconds", time.monotonic() - started_at,
                operation_name=operation, is_error=str(failed).lower(),
            )  # fmt: skip
