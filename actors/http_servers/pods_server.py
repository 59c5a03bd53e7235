"""The pods API: programs of the node ask for its pods and watch them, also when the API server is away.

gRPC on <root directory>/pods-api/pods-api.sock, for root only (gate PodsAPI). The gRPC server is started by the first
client, on a socket in the directory of the actors (`shared/relay.py`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from actors.shared.config.agent import Agent
from actors.shared.relay import Relay, kept_socket
from actors.shared.token_bucket import TokenBucket
from actors.status_manager.messages import ServedPod, ServedPods
from supervision.actor import Actor, Address, on

from .pods_api.pods_of_node import PodsOfNode, WatchedChange

if TYPE_CHECKING:
    import grpc.aio

    from .pods_api.service import PodsApi

SOCKET: Final = "pods-api.sock"
INNER_SOCKET: Final = "pods-api-grpc.sock"
DIRECTORY_MODE: Final = 0o750
CALLS_A_SECOND: Final = 100.0
BURST: Final = 10
"""The kubelet's limits of ListPods and GetPod."""
RETRY_SECONDS: Final = 5.0


class PodsServer(Actor):
    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._relay = Relay(self._serve)
        self._pods = PodsOfNode()
        self._api: PodsApi | None = None
        self._grpc: grpc.aio.Server | None = None
        await self._listen()

    async def on_stop(self) -> None:
        self._relay.close()
        if self._grpc is not None:
            await self._grpc.stop(grace=None)

    async def _listen(self) -> None:
        directory = self._agent.pods_api_dir
        try:
            os.makedirs(directory, mode=DIRECTORY_MODE, exist_ok=True)
            await self._relay.open(kept_socket(self, f"{directory}/{SOCKET}"))
        except OSError as error:
            self.log.error("the pods API cannot be served, next attempt in %.0f s: %s", RETRY_SECONDS, error)
            self.after(RETRY_SECONDS, self._listen)

    async def _serve(self) -> str:
        """Start the gRPC server. Returns the path of its socket."""
        from .pods_api.service import PodsApi, serve

        path = f"{self._agent.run_dir}/{INNER_SOCKET}"
        service = PodsApi(self, self._pods, TokenBucket(CALLS_A_SECOND, BURST))
        self._grpc = await serve(service, path)
        self._api = service
        self.log.info("first client of the pods API: gRPC is started")
        return path

    @on(ServedPod)
    def on_pod(self, message: ServedPod, sender: Address) -> None:
        self._tell(self._pods.put(message.uid, message.pod))

    @on(ServedPods)
    def on_pods(self, message: ServedPods, sender: Address) -> None:
        for event in self._pods.listed(message.uids):
            self._tell(event)

    def _tell(self, event: WatchedChange | None) -> None:
        if event is not None and self._api is not None:
            self._api.tell(event)
