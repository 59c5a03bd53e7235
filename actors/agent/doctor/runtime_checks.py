"""The container runtime: whether it answers, which version, whether it and its network are ready."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from shlex import quote
from typing import Final

from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.presence import warning as absence
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import RuntimeStatus, RuntimeVersion
from supervision.time_scale import scaled

from .finding import Finding, failure, ok
from .pod_remedies import NETWORK_PLUGIN

SECONDS: Final = 5.0
RUNTIME: Final = "container runtime"


def runtime(agent: Agent, *, running: bool) -> Iterator[Finding]:
    """`running`: the agent runs, and a managed runtime with it."""
    endpoint = agent.runtime_endpoint
    if agent.managed_runtime and not running:
        yield ok(RUNTIME, "managed: the agent starts its own")
        return
    if gone := absence(endpoint):
        denied = os.strerror(errno.EACCES) in gone
        start = _look_into(agent) if agent.managed_runtime else "systemctl start containerd, or another endpoint"
        remedy = "sudo supervise doctor" if denied else start
        yield failure(RUNTIME, gone.partition(": start it")[0], remedy)
        return
    try:
        version, status = asyncio.run(_ask_runtime(endpoint))
    except (CriError, TimeoutError) as error:
        text = f"{endpoint} does not answer: {str(error) or f'not within {scaled(SECONDS):g} s'}"
        yield failure(RUNTIME, text, _look_into(agent, "systemctl status containerd; "))
        return
    yield ok(RUNTIME, f"{version.name} {version.version} at {endpoint}")
    yield from of_status(status, _look_into(agent))


def _look_into(agent: Agent, first: str = "") -> str:
    """The command that shows why the runtime fails. `first`: text before it, unless the runtime is managed: a managed
    runtime is no unit of systemd, and the agent replaces it."""
    if not agent.managed_runtime:
        return f"{first}journalctl -u containerd"
    log = ManagedRuntime(root=agent.managed_runtime_dir, state=agent.managed_state_dir).log_file
    return f"supervise incidents container_runtime; tail {quote(log)}"


async def _ask_runtime(endpoint: str) -> tuple[RuntimeVersion, RuntimeStatus]:
    client = CriClient(endpoint)
    try:
        async with asyncio.timeout(scaled(SECONDS)):
            return await client.version(), await client.status()
    finally:
        await client.close()


def of_status(status: RuntimeStatus, remedy: str = "journalctl -u containerd") -> Iterator[Finding]:
    """The findings for the status that the runtime reports. `remedy`: for a runtime that is not ready. Pure."""
    if not status.runtime_ready:
        why = status.runtime_message or status.message
        yield failure(RUNTIME, f"it says that it is not ready: {why}", remedy)
    if status.network_ready:
        yield ok("pod network", "ready")
    else:
        text = f"not ready: {status.network_message or status.message}"
        yield failure("pod network", text, NETWORK_PLUGIN)
