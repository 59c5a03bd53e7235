"""Deletes the ResourceSlices of this node whose driver is absent, so that no pod is scheduled for its devices.

When the agent starts, all slices go, because no driver has registered yet. Later the slices of a driver go when it has
been away for half a minute. A restart of this actor deletes only slices of drivers that do not register again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.shared.api.object_names import selector_value
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api
from supervision.actor import Actor, AskError, Timer
from supervision.backoff import RetrySchedule

SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
DELAY_SECONDS: Final = 30.0
CALL_SECONDS: Final = 15.0
RETRIES: Final = RetrySchedule(first=1.0, limit=300.0)


class _Spec(Api, frozen=True):
    driver: str = ""


class _Slice(Api, frozen=True):
    spec: _Spec = _Spec()


class _Slices(Api, frozen=True):
    items: list[_Slice] = []


class ResourceSlices:
    """The ResourceSlices of one node. `connected`: whether a driver is connected."""

    def __init__(self, actor: Actor, node_name: str, connected: Callable[[str], bool]) -> None:
        self._actor, self._node, self._connected = actor, node_name, connected
        self._timers: dict[str, Timer] = {}

    def start(self) -> None:
        if self._actor.incarnation == 1:
            self._actor.start_task(self._delete(""), "resource slices of this node")
        else:
            self._actor.after(DELAY_SECONDS, self._delete_abandoned)

    def presence(self, driver: str, *, there: bool) -> None:
        if there:
            timer = self._timers.pop(driver, None)
            if timer is not None:
                timer.cancel()
        elif driver not in self._timers:
            self._timers[driver] = self._actor.after(DELAY_SECONDS, lambda: self._delete_slices(driver))

    def _delete_slices(self, driver: str) -> None:
        self._timers.pop(driver, None)
        self._actor.start_task(self._delete(driver), f"resource slices of {driver}")

    async def _delete_abandoned(self) -> None:
        """Delete the slices of drivers that did not come back after this actor was restarted."""
        failures = 0
        while True:
            answer = await self._call("GET", "")
            if answer.ok or answer.reason == "NotFound":
                break
            failures += 1
            await self._actor.pause(RETRIES.pause(failures))
        try:
            found = decode(answer.body, _Slices) if answer.ok else _Slices()
        except ObjectError as error:
            self._actor.log.warning("ResourceSlices of this node cannot be read: %s", error)
            return
        for driver in sorted({one.spec.driver for one in found.items}):
            if driver not in self._timers and not self._connected(driver):
                await self._delete(driver)

    async def _delete(self, driver: str) -> None:
        """Delete the slices of a driver, '' for all, until it is done or the driver is back."""
        failures = 0
        while not (driver and self._connected(driver)):
            answer = await self._call("DELETE", driver)
            if answer.ok or answer.reason in ("NotFound", "Standalone"):
                self._actor.log.info("ResourceSlices %s are deleted", f"of {driver}" if driver else "of this node")
                return
            failures += 1
            pause = RETRIES.pause(failures)
            text = "ResourceSlices %s are not deleted: %s: %s; tried again in %g s"
            self._actor.log.info(text, driver or "of this node", answer.reason, answer.message, pause)
            await self._actor.pause(pause)

    async def _call(self, method: str, driver: str) -> ApiAnswer:
        selector = f"spec.nodeName={self._node}" + (f",spec.driver={selector_value(driver)}" if driver else "")
        call = ApiCall(method=method, path=SLICES, query={"fieldSelector": selector})
        try:
            return await self._actor.ask(KUBE_CLIENT, call, timeout=CALL_SECONDS)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")
