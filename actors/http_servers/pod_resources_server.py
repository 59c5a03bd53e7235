"""The pod resources API: monitors of the node (device exporters, topology agents) ask which pods hold which resources.

gRPC on <root directory>/pod-resources/kubelet.sock, for root only. The gRPC server is started by the first client, on a
socket in the directory of the actors (`shared/relay.py`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from actors.shared.config.agent import Agent
from actors.shared.relay import Relay, kept_socket
from actors.shared.token_bucket import TokenBucket
from supervision.actor import Actor

if TYPE_CHECKING:
    import grpc.aio

SOCKET: Final = "kubelet.sock"
INNER_SOCKET: Final = "pod-resources.sock"
DIRECTORY_MODE: Final = 0o750
CALLS_A_SECOND: Final = 100.0
BURST: Final = 10
"""The kubelet's limits: a monitor in a loop costs the node little."""
RETRY_SECONDS: Final = 5.0


class PodResourcesServer(Actor):
    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._relay = Relay(self._serve)
        self._grpc: grpc.aio.Server | None = None
        await self._listen()

    async def on_stop(self) -> None:
        self._relay.close()
        if self._grpc is not None:
            await self._grpc.stop(grace=None)

    async def _listen(self) -> None:
        directory = self._agent.pod_resources_dir
        try:
            os.makedirs(directory, mode=DIRECTORY_MODE, exist_ok=True)
            await self._relay.open(kept_socket(self, f"{directory}/{SOCKET}"))
        except OSError as error:
            self.log.error("the pod resources API cannot be served, next attempt in %.0f s: %s", RETRY_SECONDS, error)
            self.after(RETRY_SECONDS, self._listen)

    async def _serve(self) -> str:
        """Start the gRPC server. Returns the path of its socket."""
        from .pod_resources.service import PodResources, serve

        path = f"{self._agent.run_dir}/{INNER_SOCKET}"
        bucket = TokenBucket(CALLS_A_SECOND, BURST)
        active_only = self._agent.gate("KubeletPodResourcesListUseActivePods")
        self._grpc = await serve(PodResources(self, bucket, active_only=active_only), path)
        self.log.info("first client of the pod resources API: gRPC is started")
        return path
