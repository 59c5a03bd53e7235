"""Defaults that depend on other values. Constant defaults are in the types themselves. Pure, on plain data.

In the API, a field that is not a pointer cannot tell "zero" from "not given": `syncFrequency: 0s`, which kubeadm
writes, means the default. Fields with pointers keep their zero.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

from actors.shared.config import feature_gates
from actors.shared.config.fields.duration import Duration, DurationError
from actors.shared.config.fields.kubelet_configuration import DEFAULT_EVICTION_HARD, KubeletConfiguration

from .merge_patch import at, put

ZERO_IS_UNSET: Final = (
    "podLogsDir", "syncFrequency", "fileCheckFrequency", "httpCheckFrequency", "address", "port",
    "authentication.webhook.cacheTTL", "authorization.mode", "authorization.webhook.cacheAuthorizedTTL",
    "authorization.webhook.cacheUnauthorizedTTL", "registryBurst", "imagePullCredentialsVerificationPolicy",
    "eventBurst", "healthzBindAddress", "streamingConnectionIdleTimeout", "nodeStatusUpdateFrequency",
    "nodeStatusReportFrequency", "nodeLeaseDurationSeconds", "imageMinimumGCAge", "volumeStatsAggPeriod",
    "cgroupDriver", "cpuManagerPolicy", "cpuManagerReconcilePeriod", "memoryManagerPolicy", "topologyManagerPolicy",
    "topologyManagerScope", "runtimeRequestTimeout", "hairpinMode", "maxPods", "maxOpenFiles", "contentType",
    "kubeAPIBurst", "evictionPressureTransitionPeriod", "containerLogMaxSize",
    "configMapAndSecretChangeDetectionStrategy", "volumePluginDir", "memoryReservationPolicy",
    "containerRuntimeEndpoint", "logging.format", "logging.flushFrequency",
)  # fmt: skip
_DEFAULTS: Final = KubeletConfiguration()


def fill_eviction(base: dict[str, Any]) -> None:
    """Add the default hard thresholds to the base document, before drop-ins are merged; in place."""
    hard = base.get("evictionHard")
    if hard is None:
        base["evictionHard"] = dict(DEFAULT_EVICTION_HARD)
    elif isinstance(hard, dict) and base.get("mergeDefaultEvictionSettings") is True:
        base["evictionHard"] = {**DEFAULT_EVICTION_HARD, **hard}


def fix_report_frequency(base: dict[str, Any], *, drop_ins: bool) -> None:
    """Set the default of nodeStatusReportFrequency as the base document has it; in place.

    It follows nodeStatusUpdateFrequency of that document alone: a drop-in with an update frequency leaves it.
    """
    update, report = "nodeStatusUpdateFrequency", "nodeStatusReportFrequency"
    if report in base and not _is_zero(base[report], _DEFAULTS.nodeStatusReportFrequency):
        return
    if update in base and not _is_zero(base[update], _DEFAULTS.nodeStatusUpdateFrequency):
        if _is_duration(base[update]):  # one that is not has one problem
            base[report] = base[update]
    elif drop_ins:
        base[report] = str(_DEFAULTS.nodeStatusReportFrequency)


def drop_zeros(data: dict[str, Any]) -> None:
    """Remove the zeros that mean "not given" from the documents, in place."""
    for path in ZERO_IS_UNSET:
        if _is_zero(at(data, path), _default_of(path)):
            *parents, last = path.split(".")
            owner = at(data, ".".join(parents)) if parents else data
            del owner[last]
    update = "nodeStatusUpdateFrequency"
    if _is_duration(data.get(update)) and "nodeStatusReportFrequency" not in data:
        data["nodeStatusReportFrequency"] = data[update]


def derive(data: dict[str, Any], gates: dict[str, bool]) -> dict[str, str]:
    """Set the fields that depend on others, in place; return them with the reasons."""
    derived: dict[str, str] = {}

    def settle(path: str, value: Any, reason: str) -> None:
        put(data, path, value)
        derived[path] = reason

    parallel = data.get("maxParallelImagePulls")
    if "serializeImagePulls" not in data and type(parallel) is int and parallel >= 2:
        settle("serializeImagePulls", False, "default, because maxParallelImagePulls is above 1")
    gate = "KubeletEnsureSecretPulledImages"
    if "imagePullCredentialsVerificationPolicy" not in data and not feature_gates.enabled(gate, gates):
        settle("imagePullCredentialsVerificationPolicy", "", f"default without {gate}")
    gate, period = "KubeletCrashLoopBackOffMax", "crashLoopBackOff.maxContainerRestartPeriod"
    if at(data, period) is None and not feature_gates.enabled(gate, gates):
        settle(period, None, f"default without {gate}")
    limit = data.get("podPidsLimit")
    if type(limit) is int and limit < -1:
        settle("podPidsLimit", -1, "any negative limit is -1")
    period = "evictionPressureTransitionPeriod"
    if _is_zero(data.get(period), _default_of(period)):
        settle(period, "5m0s", "0s is 5m0s")
    return derived


def _default_of(path: str) -> Any:
    return reduce(getattr, path.split("."), _DEFAULTS)


def _is_duration(value: Any) -> bool:
    """Whether a document's value is one, as text or as a flag's value."""
    if not isinstance(value, str):
        return isinstance(value, Duration)
    try:
        Duration.parse(value)
    except DurationError:
        return False
    return True


def _is_zero(value: Any, default: Any) -> bool:
    """Whether the value is the zero of the field's type, which is the type of `default`."""
    if isinstance(default, Duration) and isinstance(value, str):
        try:
            return Duration.parse(value).nanoseconds == 0
        except DurationError:
            return False
    return value == "" if isinstance(default, str) else type(value) is int and value == 0
