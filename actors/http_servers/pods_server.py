"""The pods API: programs of the node ask for its pods and watch them, also when the API server is away.

gRPC on <root directory>/pods-api/pods-api.sock, for root only (gate PodsAPI). The gRPC server is started by the first
client, on a socket in the directory of the actors (`serving/api_socket.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from actors.shared.config.agent import Agent
from actors.shared.token_bucket import TokenBucket
from actors.status_manager.messages import ServedPod, ServedPods
from supervision.actor import Actor, Address, on

from .pods_api.pods_of_node import PodsOfNode, WatchedChange
from .serving.api_socket import ApiSocket

if TYPE_CHECKING:
    import grpc.aio

    from .pods_api.service import PodsApi

SOCKET: Final = "pods-api.sock"
INNER_SOCKET: Final = "pods-api-grpc.sock"
CALLS_A_SECOND: Final = 100.0
BURST: Final = 10
"""The kubelet's limits of ListPods and GetPod."""


class PodsServer(Actor):
    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        self._pods = PodsOfNode()
        self._api: PodsApi | None = None
        self._socket = ApiSocket(self, "pods API", f"{agent.run_dir}/{INNER_SOCKET}", self._serve)
        await self._socket.open(f"{agent.pods_api_dir}/{SOCKET}")

    async def on_stop(self) -> None:
        await self._socket.close()

    async def _serve(self, path: str) -> grpc.aio.Server:
        from .pods_api.service import PodsApi, serve

        service = PodsApi(self, self._pods, TokenBucket(CALLS_A_SECOND, BURST))
        server = await serve(service, path)
        self._api = service
        return server

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
