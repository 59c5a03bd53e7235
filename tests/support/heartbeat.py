"""The heartbeat client alone against a real API server of the tests: neighbours played, timers in the test's hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.heartbeat_client.actor import HeartbeatClient
from actors.api_clients.heartbeat_client.messages import RuntimeReport
from actors.api_clients.kube_client.messages import GetObject, ObjectState
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.image_manager.messages import GetImages, NodeImage, NodeImages
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.node_addresses import HostAddresses
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.apiserver import ApiServer

NAME = "api_clients/heartbeat_client"
WALL = 1_790_000_000.0
CAPACITY = {"cpu": 2000, "memory": 8 << 30, "ephemeral-storage": 100 << 30, "pods": 110}


class Heartbeat:
    """One incarnation on `server`; another that begins at the `clock` of the one before is the next."""

    def __init__(
        self,
        server: ApiServer,
        clock: VirtualClock | None = None,
        *,
        incarnation: int = 1,
        dead: bool = False,
        agent: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        """`dead`: every neighbour is."""
        self.server = server
        self.clock = VirtualClock(clock.now) if clock else VirtualClock()  # the timers of the one before are gone
        self.agent = Agent(
            config=KubeletConfiguration(**config),
            node_name="n1",
            standalone=False,
            node_ip="10.0.0.7",
            root_dir=str(server.folder / "root"),
            **{"kubeconfig": server.node_kubeconfig("n1"), **(agent or {})},
        )
        arguments = {
            "clock": self.clock,
            "wall": lambda: WALL + self.clock(),
            "rng": lambda: 0.5,
            "host": HostAddresses(has=lambda ip: True, source=lambda version: ""),
        }
        self.harness = Harness(
            HeartbeatClient,
            name=NAME,
            context=self.agent,
            arguments=arguments,
            incarnation=incarnation,
            clock=self.clock,
        )
        if not dead:
            self.harness.answer(GetNodeResources, NodeResources(CAPACITY, CAPACITY, {}, 0, "cgroupfs", 2))
            self.harness.answer(GetObject, lambda ask: ObjectState(ask.ref, reason="Unreachable"))
            self.harness.answer(GetImages, NodeImages([NodeImage(["a@sha256:1", "a:1"], 100)]))

    async def __aenter__(self) -> Heartbeat:
        await self.harness.__aenter__()
        await self.harness.advance(0.0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.harness.__aexit__(kind, error, traceback)
        client = self.harness.actor.client
        if client is not None:
            await client.close()

    # -- what happens --------------------------------------------------------------------------------------------------
    async def runtime(self, **more: Any) -> None:
        """The PLEG says that all is well, but for what is given."""
        now = self.clock()
        told = {"ready_at": now, "relisted_at": now, "version": "containerd://1.6.20", **more}
        await self.harness.deliver(RuntimeReport(**told), "pleg")

    async def until(self, condition: Callable[[], bool], what: str = "condition", step: float = 0.1) -> None:
        """Until it holds, with time passing a little on the way: retries wait by the test's clock."""
        for _ in range(400):
            if condition():
                return
            await self.harness.advance(step)
            await asyncio.sleep(0.005)
        raise AssertionError(f"no {what}; asked: {[str(one) for one in self.server.requests][-10:]}")

    async def ready(self) -> Heartbeat:
        await self.runtime()
        await self.until(lambda: self.status("Ready") == "True", "Ready")
        await self.quiet()  # the server has it before the actor has the answer
        return self

    async def quiet(self) -> None:
        """Until nothing more is asked."""
        seen = -1
        while seen != len(self.requests_for()):
            seen = len(self.requests_for())
            await self.harness.settle()
            for _ in range(10):  # a moment without the processor is not the whole wait
                await asyncio.sleep(0.005)

    async def pass_time(self, seconds: float) -> None:
        await self.harness.advance(seconds)
        await self.quiet()

    # -- what there is -------------------------------------------------------------------------------------------------
    @property
    def node(self) -> dict[str, Any]:
        found = self.server.get("nodes", "n1")
        assert found is not None, "there is no node"
        return found

    @property
    def registered(self) -> bool:
        return self.server.get("nodes", "n1") is not None

    @property
    def lease(self) -> dict[str, Any] | None:
        return self.server.get("leases", "n1", "kube-node-lease")

    def renewed(self) -> str:
        return self.lease["spec"]["renewTime"] if self.lease else ""

    def condition(self, kind: str) -> dict[str, Any]:
        found = self.server.get("nodes", "n1") or {}
        return next((one for one in found.get("status", {}).get("conditions", []) if one["type"] == kind), {})

    def status(self, kind: str) -> str:
        return str(self.condition(kind).get("status", ""))

    def requests_for(self, verb: str = "", resource: str = "") -> list[Any]:
        return [one for one in self.server.requests if verb in ("", one.verb) and resource in ("", one.resource)]

    def events(self) -> list[str]:
        return [event.reason for event in self.harness.sent(RecordEvent)]
