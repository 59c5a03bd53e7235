"""The event of a probe that failed, and the labels under which outcomes are counted: the kubelet's. Pure."""

from __future__ import annotations

from typing import Final

from actors.api_clients.event_client.messages import RecordEvent, pod_event

from .outcome import ProbeOutcome
from .probe_type import Kind
from .probed_pods import PodProbes, ProbeState

_KIND_NAMES: Final[dict[Kind, str]] = {"readiness": "Readiness", "liveness": "Liveness", "startup": "Startup"}
_RESULTS: Final = {"success": "successful", "failure": "failed"}
"""The results that are counted: an error does not concern the container."""


def labels_of(known: PodProbes, state: ProbeState) -> dict[str, str]:
    """The labels of both metrics of a probe."""
    meta = known.pod.metadata
    return {
        "container": state.container.name,
        "namespace": meta.namespace,
        "pod": meta.name,
        "probe_type": _KIND_NAMES[state.kind],
    }


def counted_result(outcome: ProbeOutcome) -> str:
    """The label of a success or failure."""
    return _RESULTS[outcome.result]


def event_of(known: PodProbes, state: ProbeState, outcome: ProbeOutcome) -> RecordEvent | None:
    """The event of an outcome that is no plain success; the event client combines similar ones."""
    if outcome.result == "success" and not outcome.warning:
        return None
    reason, what = "Unhealthy", f"failed: {outcome.text}"
    if outcome.result == "error":
        what = f"errored and resulted in {outcome.state} state: {outcome.text}"
    elif outcome.result == "success":
        reason, what = "ProbeWarning", f"warning: {outcome.text}"
    text = f"{_KIND_NAMES[state.kind]} probe {what}"
    return pod_event(known.pod.metadata, "Warning", reason, text, known.field(state.container.name))
