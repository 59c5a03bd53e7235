"""kubelet.sock: listens from the start, and has its gRPC server from the first plugin on."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from actors.shared.config.agent import Agent
from actors.shared.relay import LOOK_SECONDS, Relay, kept_socket
from supervision.actor import Actor
from supervision.errors import error_text
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.repeated_warnings import RepeatedWarnings

from .messages import REGISTRATION
from .plugin_directory import SOCKET, prepare
from .registration import Registration

if TYPE_CHECKING:
    import grpc.aio

INNER_SOCKET: Final = "device-plugins.sock"
RETRY_SECONDS: Final = 5.0
DIRECTORY_MODE: Final = 0o750


class RegistrationSocket:
    """Plugins that connect are passed on to the server's own socket in the directory of the actors."""

    def __init__(self, actor: Actor, agent: Agent, registration: Registration) -> None:
        self._actor, self._agent, self._registration = actor, agent, registration
        self._relay = Relay(self._serve)
        self._server: grpc.aio.Server | None = None
        self._warnings = RepeatedWarnings(actor.log)
        self._reported = ""

    async def open(self) -> None:
        """An agent that starts removes all sockets of the directory; a new incarnation of this actor does not."""
        if self._actor.incarnation == 1:
            self._prepare()
        await self._listen()
        self._actor.every(LOOK_SECONDS, self._look)

    def _prepare(self) -> None:
        try:
            for problem in prepare(self._agent.device_plugins_dir):
                self._actor.log.warning("not removed: %s", problem)
        except OSError as error:
            self._actor.log.error("the directory of device plugins cannot be used: %s", error)

    async def _listen(self) -> None:
        try:
            await self._relay.open(kept_socket(self._actor, f"{self._agent.device_plugins_dir}/{SOCKET}"))
        except OSError as error:
            text = f"no device plugin can register: {error_text(error)}"
            self._warnings.warn("listen", text)
            self._tell(text)
            self._actor.after(RETRY_SECONDS, self._listen)
            return
        self._warnings.resolved("listen")
        self._tell("")

    async def _look(self) -> None:
        """Make the socket again if it was removed: plugins register again when it appears."""
        if self._relay.removed:
            self._actor.log.warning("%s was removed: it is made again", f"{self._agent.device_plugins_dir}/{SOCKET}")
            self._relay.stop_listening()
            with suppress(OSError):  # `_listen` reports it
                os.makedirs(self._agent.device_plugins_dir, mode=DIRECTORY_MODE, exist_ok=True)
            await self._listen()

    def _tell(self, text: str) -> None:
        """Tell `supervise status` and the health check `device-plugin` the problem; '' when plugins can register."""
        if text != self._reported:
            self._reported = text
            self._actor.tell(FORK_SERVER, ServiceState(REGISTRATION, text, time.monotonic()))

    async def close(self) -> None:
        self._relay.close()
        if self._server is not None:
            await self._server.stop(grace=None)

    async def _serve(self) -> str:
        from .registration_service import serve

        path = f"{self._agent.run_dir}/{INNER_SOCKET}"
        self._server = await serve(self._registration, path)
        return path
