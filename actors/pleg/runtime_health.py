"""Whether the runtime and its network are ready, from its answers to Status and Version. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.api_clients.heartbeat_client.messages import RuntimeHandlerReport, RuntimeReport
from actors.pod_workers.messages import RuntimeHealth
from actors.shared.cri.model import RuntimeStatus, RuntimeVersion
from actors.shared.cri.remedies import RuntimeRemedies
from supervision.process_messages import ServiceState

NETWORK: Final = "pod network"
CONDITION: Final = "runtime condition"
_SEMANTIC: Final = re.compile(r"v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)")
_NUMBERS: Final = re.compile(r"v?(\d+(?:\.\d+)+)")
NOT_CHECKED: Final = RuntimeHealth(False, False, "the runtime has not been asked yet")


class RuntimeAnswers(msgspec.Struct, frozen=True):
    """The runtime's answers about itself."""

    health: RuntimeHealth = NOT_CHECKED
    """For the pod workers."""
    status: RuntimeStatus = RuntimeStatus()
    """Its last answer."""
    version: str = ""
    """`containerd://1.7.2`; empty: not asked since it was silent."""
    ready_at: float = 0.0
    """When it was ready last, on the monotonic clock; 0.0: never."""
    list_error: str = ""
    """Why the last relist failed; empty: it did not."""


def answered(state: RuntimeAnswers, status: RuntimeStatus, now: float) -> RuntimeAnswers:
    """It has answered Status. Workers cannot use one that lists nothing, whatever it answers."""
    health = RuntimeHealth(status.runtime_ready, status.network_ready, status.message)
    if state.list_error:
        health = RuntimeHealth(False, False, state.list_error)
    ready_at = now if status.runtime_ready else state.ready_at
    return msgspec.structs.replace(state, health=health, status=status, ready_at=ready_at)


def unreachable(state: RuntimeAnswers, error: str) -> RuntimeAnswers:
    """A call has failed."""
    return msgspec.structs.replace(state, health=RuntimeHealth(False, False, error))


def unlisted(state: RuntimeAnswers, error: str) -> RuntimeAnswers:
    """A relist has failed."""
    health = RuntimeHealth(False, False, error) if state.health.ready else state.health
    return msgspec.structs.replace(state, health=health, list_error=error)


def listed(state: RuntimeAnswers) -> RuntimeAnswers:
    """A relist has succeeded: the next answer to Status counts."""
    return msgspec.structs.replace(state, list_error="")


def without_version(state: RuntimeAnswers) -> RuntimeAnswers:
    """It does not answer Status: what comes back may be another version."""
    return msgspec.structs.replace(state, version="")


def with_version(state: RuntimeAnswers, version: RuntimeVersion) -> RuntimeAnswers:
    """As the kubelet names the runtime: without `v`, and without what a distribution has appended."""
    return msgspec.structs.replace(state, version=f"{version.name}://{_number(version.version)}")


def _number(version: str) -> str:
    """`1.6.20` for `v1.6.20~ds1`. A semantic version is kept whole; a text that is no version stays unchanged."""
    found = _SEMANTIC.fullmatch(version) or _NUMBERS.match(version)
    return found[1] if found else version


def report(state: RuntimeAnswers, relisted_at: float) -> RuntimeReport:
    """The report for the node's Ready condition and status. `relisted_at`: the start of the last successful relist."""
    status = state.status
    handlers = [
        RuntimeHandlerReport(
            name=handler.name,
            recursive_read_only_mounts=handler.recursive_read_only_mounts,
            user_namespaces=handler.user_namespaces,
        )
        for handler in status.handlers
    ]
    return RuntimeReport(
        ready_at=state.ready_at,
        relisted_at=relisted_at,
        runtime_error=status.runtime_message,
        network_error=status.network_message,
        version=state.version,
        handlers=handlers,
        supplemental_groups_policy=status.supplemental_groups_policy,
    )


def troubles(
    status: RuntimeStatus, since: float, remedies: RuntimeRemedies, network_remedy: str
) -> tuple[ServiceState, ...]:
    """The problems for `supervise status`: of the runtime, and of the network that pods wait for, with what mends
    them."""
    condition = "" if status.runtime_ready else status.runtime_message or status.message or "it is not ready"
    network = "" if status.network_ready else status.network_message or status.message or "it is not ready"
    return (
        ServiceState(CONDITION, condition, since, condition and remedies.errors),
        ServiceState(NETWORK, network and f"not ready: {network}", since, network and network_remedy),
    )


def same_readiness(one: RuntimeHealth, other: RuntimeHealth) -> bool:
    return (one.ready, one.network_ready) == (other.ready, other.network_ready)
