"""Asks the runtime whether it and its network are ready, and reports it to the workers, the node and `supervise
status`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from shlex import quote
from typing import Final

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.pod_workers.messages import RuntimeHealth, pod_workers
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, WithoutCri, is_answer
from actors.shared.cri.model import RuntimeStatus
from actors.shared.cri.program_log import without_cri
from actors.shared.cri.remedies import RuntimeRemedies, managed_network, network_plugin, turn_on_cri
from actors.shared.cri.service_outage import ServiceOutage
from supervision.actor import Actor
from supervision.protocol import FORK_SERVER

from . import runtime_health
from .runtime_health import RuntimeAnswers, same_readiness

STATUS: Final = "Status"


class RuntimeHealthCheck:
    """Keeps the last answers; `runtime_health` interprets them."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        client: CriClient,
        outage: ServiceOutage,
        relisted_at: Callable[[], float],
    ) -> None:
        """`relisted_at`: the start of the last relist that the runtime answered, on the monotonic clock."""
        self._actor, self._agent, self._client, self._relisted_at = actor, agent, client, relisted_at
        self._outage = outage
        self._answers = RuntimeAnswers()
        self._logged = False
        self._troubles: dict[str, str] = {}
        """The last report to `supervise status`, by service."""

    @property
    def health(self) -> RuntimeHealth:
        return self._answers.health

    @property
    def checked(self) -> bool:
        """Whether this incarnation has asked the runtime."""
        return self.health is not runtime_health.NOT_CHECKED

    async def check(self) -> RuntimeStatus | None:
        """Ask for the status and report it; None if the runtime does not answer."""
        try:
            status = await self._client.status()
        except CriError as error:
            self._tell_outage(error)
            silent = runtime_health.without_version(self._answers)
            self._update(runtime_health.unreachable(silent, str(error)))
            self.send_report()
            return None
        self._outage.answered(STATUS)
        self._update(runtime_health.answered(self._answers, status, time.monotonic()))
        self._tell_troubles(status)
        self.send_report()
        return status

    def _tell_outage(self, error: CriError) -> None:
        if is_answer(error):
            self._outage.refused(STATUS, str(error))
        elif isinstance(error, WithoutCri):
            log_file = self._agent.managed_log
            remedy = f"tail {quote(log_file)}" if log_file else turn_on_cri()
            self._outage.lacking(f"without CRI: {without_cri(log_file)}", remedy)
        else:
            self._outage.silent()

    async def ask_version(self) -> None:
        """Ask once after each silence; only a node in a cluster shows the version."""
        if self._answers.version or self._agent.standalone:
            return
        try:
            version = await self._client.version()
        except CriError as error:
            self._actor.log.warning("the runtime does not report its version: %s", error)
            return
        self._answers = runtime_health.with_version(self._answers, version)
        self.send_report()

    def relist_failed(self, error: CriError) -> None:
        unlisted = runtime_health.unlisted(self._answers, str(error))
        if self.health.ready:
            self._update(unlisted)
        else:
            self._answers = unlisted

    def relisted(self) -> None:
        self._answers = runtime_health.listed(self._answers)

    def send_report(self) -> None:
        """Reports the inputs of the node's Ready condition; a standalone agent has no Node object."""
        if not self._agent.standalone:
            self._actor.tell(HEARTBEAT_CLIENT, runtime_health.report(self._answers, self._relisted_at()))

    def _update(self, now: RuntimeAnswers) -> None:
        """Store the new state and report it to the workers, even if it is unchanged, because a report may have been
        lost. The log has each change of readiness."""
        before, self._answers = self.health, now
        for worker in pod_workers(self._agent.workers):
            self._actor.tell(worker, now.health)
        if now.health != before and not (self._logged and same_readiness(now.health, before)):
            self._logged = True
            ready = now.health.ready and now.health.network_ready
            level = logging.INFO if ready else logging.WARNING
            self._actor.log.log(level, "container runtime: %s", "ready" if ready else now.health.message or "not ready")

    def _tell_troubles(self, status: RuntimeStatus) -> None:
        """Report each change, and the state at the start of this incarnation once."""
        log = self._agent.managed_log
        remedies, network = RuntimeRemedies(self._agent.runtime_endpoint, log), network_plugin()
        if log and not status.network_ready:
            network = managed_network(log, cluster=not self._agent.standalone)
        for state in runtime_health.troubles(status, time.monotonic(), remedies, network):
            if self._troubles.get(state.service) != state.text:
                self._troubles[state.service] = state.text
                self._actor.tell(FORK_SERVER, state)
