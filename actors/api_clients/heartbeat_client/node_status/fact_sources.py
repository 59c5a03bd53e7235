"""Collects the facts of the node's status from other actors and from the host.

Known facts are kept. An actor that does not answer is asked again, and nothing waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from actors.api_clients.heartbeat_client.messages import NodePressure, RuntimeHandlerReport, RuntimeReport
from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources
from actors.image_manager.messages import IMAGE_MANAGER, GetImages
from actors.shared.kube.node_addresses import AddressError, HostAddresses, choose, specified_ips
from supervision.actor import AskError, DisposableError

from .facts import ContainerImage, Json, NodeStatusInput, NodeStatusResources

if TYPE_CHECKING:
    from actors.api_clients.api_actor import ApiActor

ASK_SECONDS: Final = 10.0
IMAGES_SECONDS: Final = 30.0
ADDRESS_SECONDS: Final = 10.0
LOOK_UP_SECONDS: Final = 300.0
"""Seconds between DNS lookups of the node's name, if it is looked up."""
LOOK_UP_DEADLINE: Final = 5.0
ENOUGH_SECONDS: Final = 3.0
"""Seconds that a new node waits for capacity and addresses; then it is registered without them."""
SILENT_SECONDS: Final = 60.0
"""Seconds after the start without a report, after which there is no pressure."""


class FactSources:
    """Asks through `actor`."""

    def __init__(
        self,
        actor: ApiActor,
        facts: NodeStatusInput,
        clock: Callable[[], float],
        host: HostAddresses,
        *,
        found: Callable[[list[Json]], None] = lambda addresses: None,
        old_cgroups: Callable[[], None] = lambda: None,
    ) -> None:
        """`found` is called with the node's addresses, `old_cgroups` once when the host has cgroup v1."""
        self._actor, self.facts, self._clock, self._host = actor, facts, clock, host
        self._on_addresses, self._old_cgroups = found, old_cgroups
        self.enough = asyncio.Event()
        """A new node may be registered."""
        self._looked_up: list[str] = []
        self._looked_up_at: float | None = None
        self._last_error = ""

    def start(self) -> None:
        actor = self._actor
        actor.every(ADDRESS_SECONDS, self._find_addresses, immediately=True)
        actor.every(ASK_SECONDS, self._ask_resources, immediately=True)
        actor.every(IMAGES_SECONDS, self._ask_images, immediately=True)
        actor.after(ENOUGH_SECONDS, self.enough.set)
        actor.after(SILENT_SECONDS, self._no_pressure)

    def learn(self, **known: Any) -> None:
        self.facts = msgspec.structs.replace(self.facts, **known)
        if self.facts.resources is not None and self.facts.addresses is not None:
            self.enough.set()

    def learn_runtime(self, report: RuntimeReport) -> None:
        known: dict[str, Any] = {"runtime": self.facts.runtime.reported(report)}
        if report.version:
            known["runtime_version"] = report.version
        if report.ready_at:
            known["handlers"] = [_handler(one) for one in sorted(report.handlers, key=lambda one: one.name)]
        if report.handlers:  # a runtime that lists handlers also reports its features
            known["supplemental_groups_policy"] = report.supplemental_groups_policy
        self.learn(**known)

    def learn_problem(self, source: str, message: str) -> bool:
        """Whether the source said something else before, or nothing."""
        before = self.facts.problems.get(source, "")
        self.learn(problems={**self.facts.problems, source: message})
        return before != message

    def _no_pressure(self) -> None:
        if self.facts.pressure is None:
            self.learn(pressure=NodePressure())

    # -- neighbours ---------------------------------------------------------------------------------------------------
    async def _ask_resources(self) -> None:
        try:
            answer = await self._actor.ask(CONTAINER_MANAGER, GetNodeResources(), timeout=ASK_SECONDS)
        except AskError:
            return
        first = self.facts.resources is None
        self.learn(resources=NodeStatusResources(capacity=answer.capacity, allocatable=answer.allocatable))
        if first and answer.cgroup_version == 1:
            self._old_cgroups()

    async def _ask_images(self) -> None:
        try:
            answer = await self._actor.ask(IMAGE_MANAGER, GetImages(), timeout=IMAGES_SECONDS)
        except AskError:
            return
        if answer.images:  # none: more likely a runtime that does not answer than a node that runs without any
            self.learn(images=in_order([ContainerImage(image.names, image.size_bytes) for image in answer.images]))

    # -- addresses ----------------------------------------------------------------------------------------------------
    async def _find_addresses(self) -> None:
        name, given = self._actor.agent.node_name, self._actor.agent.node_ip
        if not specified_ips(given):
            await self._look_up(name)
        try:
            addresses = choose(given, name, self._looked_up, self._host)
        except AddressError as error:
            if self._last_error != str(error):
                self._actor.log.warning("the node's addresses stay as they are: %s", error)
            self._last_error = str(error)
            return
        self._last_error = ""
        self.learn(addresses=addresses)
        self._on_addresses(addresses)

    async def _look_up(self, name: str) -> None:
        """Ask name service, apart and not often: it may hang."""
        now = self._clock()
        if self._looked_up_at is not None and now - self._looked_up_at < LOOK_UP_SECONDS:
            return
        self._looked_up_at = now
        function = "actors.shared.linux.host_addresses:look_up"
        try:
            self._looked_up = await self._actor.disposable(function, {"name": name}, deadline=LOOK_UP_DEADLINE)
        except DisposableError as error:
            self._actor.log.info("cannot look up %s in DNS: %s", name, error)


def in_order(images: list[ContainerImage]) -> list[ContainerImage]:
    """Biggest first, digests before tags, and always the same: the runtime's own order changes from call to call."""
    sorted_names = [
        ContainerImage(sorted(one.names, key=lambda name: ("@" not in name, name)), one.size_bytes) for one in images
    ]
    return sorted(sorted_names, key=lambda one: (-one.size_bytes, one.names))


def _handler(handler: RuntimeHandlerReport) -> Json:
    """The handler as in node.status.runtimeHandlers; an empty name is left out, as the API server does."""
    features = {
        "recursiveReadOnlyMounts": handler.recursive_read_only_mounts,
        "userNamespaces": handler.user_namespaces,
    }
    return {**({"name": handler.name} if handler.name else {}), "features": features}
