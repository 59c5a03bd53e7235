"""One certificate of a pod, from its first request until the pod's volumes are unmounted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from supervision.actor import Actor
from supervision.backoff import Backoff, BackoffPolicy

from .api import CertificateApi, CertificateApiError
from .requests import WantedCertificate
from .states import (
    NOT_ISSUED,
    CertificateAction,
    CertificateEvent,
    PodCertificateState,
    PodCredentials,
    credentials_of,
    looked_at,
    metric_state,
    next_action,
    requested,
    warned,
)

BACKOFF: Final = BackoffPolicy(first=0.2, maximum=60.0, factor=2.0, jitter=0.2, free=0)
"""The pauses after steps that fail. Longer ones would have no effect: each certificate is looked at once a minute or
two."""


class PodCertificate:
    """One step at a time: `advance` is called when something may have changed."""

    def __init__(
        self,
        actor: Actor,
        api: CertificateApi,
        wanted: WantedCertificate,
        changed: Callable[[], None],
        wall: Callable[[], float],
        rng: Callable[[], float],
    ) -> None:
        """`changed` is called when the pod gets other credentials, or none any more. `wall`: seconds since 1970."""
        self._actor, self._api, self.wanted, self._changed = actor, api, wanted, changed
        self._wall, self._rng = wall, rng
        self._state = PodCertificateState()
        self._error = ""
        """Why the last step failed; '' if it did not."""
        self._backoff = Backoff()
        self._settled = asyncio.Event()
        """Set once it is issued or refused."""
        self._task: asyncio.Task[Any] | None = None
        self._again = False
        self._ended = False

    # -- for its users ------------------------------------------------------------------------------------------------
    async def credentials(self, wait: float) -> PodCredentials:
        """What the pod gets; waits up to `wait` seconds for the first certificate."""
        try:
            await asyncio.wait_for(self._settled.wait(), wait)
        except TimeoutError:
            pass
        found = credentials_of(self._state)
        if found.error == NOT_ISSUED and self._error:
            return PodCredentials(error=f"{NOT_ISSUED}: {self._error}")
        return found

    def metric_state(self) -> str:
        return metric_state(self._state, self._wall())

    def awaits(self, request: str) -> bool:
        """Whether it waits for the request of this name."""
        return self._state.awaited is not None and self._state.awaited.request == request

    def advance(self) -> None:
        """Do what is next; after the running step, if there is one."""
        self._again = True
        if self._task is None and not self._ended:
            self._task = self._actor.start_task(self._run(), f"certificate {self.wanted.pod.uid}")

    def end(self) -> None:
        self._ended = True
        if self._task is not None:
            self._task.cancel()

    # -- steps --------------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        while self._again:
            self._again = False
            try:
                await self._step()
                self._backoff, self._error = Backoff(), ""
            except CertificateApiError as error:
                self._failed(str(error))
        self._task = None

    def _failed(self, text: str) -> None:
        if text != self._error:
            pod, source = self.wanted.pod, self.wanted.source
            about = f"pod {pod.namespace}/{pod.name}: certificate of {source.signerName}"
            self._actor.log.warning("%s: %s", about, text)
        self._error, self._backoff = text, self._backoff.failed(BACKOFF)
        self._actor.after(self._backoff.pause(BACKOFF, self._rng), self.advance)

    async def _step(self) -> None:
        """Raises CertificateApiError."""
        action = next_action(self._state, self._wall())
        if action is CertificateAction.REQUEST:
            await self._request()
        elif action is CertificateAction.LOOK:
            await self._check_request()

    async def _request(self) -> None:
        self._warn()
        which = "refresh" if self._state.issued is not None else "initial"
        try:
            name, key = await self._api.create(self.wanted)
        except CertificateApiError as error:
            raise CertificateApiError(f"while creating {which} PodCertificateRequest: {error}") from None
        self._state = requested(self._state, name, key, self._wall(), self._rng())
        self._again = True  # a signer may be fast, and its answer have come before this one

    async def _check_request(self) -> None:
        awaited = self._state.awaited
        assert awaited is not None  # noqa: S101 - the action says so
        namespace = self.wanted.pod.namespace
        status = await self._api.look(namespace, awaited.request)
        where = f"{namespace}/{awaited.request}"
        found = looked_at(self._state, where, status, self._wall(), self._rng())
        before, self._state = self._state, found.state
        if found.event is not None:
            self._tell(found.event)
        if found.state.refused is not None or found.state.issued is not before.issued:
            self._settled.set()
            self._changed()
        elif found.state.awaited is not None:
            self._warn()
        if found.error:
            raise CertificateApiError(found.error)

    def _warn(self) -> None:
        self._state, events = warned(self._state, self._wall())
        for event in events:
            self._tell(event)

    def _tell(self, event: CertificateEvent) -> None:
        self._actor.tell(EVENT_CLIENT, pod_event(self.wanted.pod, "Warning", event.reason, event.text), deadline=60.0)
