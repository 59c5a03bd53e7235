"""The pod resources API: monitors of the node (device exporters, topology agents) ask which pods hold which resources.

gRPC on <root directory>/pod-resources/kubelet.sock, for root only. The gRPC server is started by the first client, on a
socket in the directory of the actors (`serving/api_socket.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from actors.shared.config.agent import Agent
from actors.shared.token_bucket import TokenBucket
from supervision.actor import Actor

from .serving.api_socket import ApiSocket

if TYPE_CHECKING:
    import grpc.aio

SOCKET: Final = "kubelet.sock"
INNER_SOCKET: Final = "pod-resources.sock"
CALLS_A_SECOND: Final = 100.0
BURST: Final = 10
"""The kubelet's limits: a monitor in a loop costs the node little."""


class PodResourcesServer(Actor):
    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        self._socket = ApiSocket(self, "pod resources API", f"{agent.run_dir}/{INNER_SOCKET}", self._serve)
        await self._socket.open(f"{agent.pod_resources_dir}/{SOCKET}")

    async def on_stop(self) -> None:
        await self._socket.close()

    async def _serve(self, path: str) -> grpc.aio.Server:
        from .pod_resources.service import PodResources, serve

        active_only = cast(Agent, self.context).gate("KubeletPodResourcesListUseActivePods")
        return await serve(PodResources(self, TokenBucket(CALLS_A_SECOND, BURST), active_only=active_only), path)
