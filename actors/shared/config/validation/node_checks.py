"""The rules on the node, its servers and its log that take more than a line."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from actors.shared.config import feature_gates
from actors.shared.config.endpoints import MAX_SOCKET_PATH, socket_of
from actors.shared.config.fields import names
from actors.shared.config.fields.groups import Taint, VModule
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.image_names import is_image_name
from actors.shared.kube.quantity import parse
from actors.shared.kube.sysctls import normalized

from .rule_kinds import Finding, ValidationContext, gate
from .unsupported import REFUSED_GATES

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAMESPACED_SYSCTL: Final = re.compile(r"(kernel\.(shm|msg|sem)|fs\.mqueue\.|net\.)", re.ASCII)
_SYSCTL: Final = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
PULL_POLICIES: Final = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
_IMAGES_BELOW: Final = re.compile(r"[^\s@:*]+(:[0-9]+(/[^\s@:*]+)?)?/\*\Z", re.ASCII)


def is_clean_absolute(path: str) -> bool:
    return path.isascii() and path.startswith("/") and not path.startswith("//") and posixpath.normpath(path) == path


def is_cgroup_name(name: str) -> bool:
    """A cgroup path without `..`."""
    return name.isprintable() and not {".", ".."} & set(name.split("/"))


def is_socket(endpoint: str) -> bool:
    """A Unix socket's path, with or without unix://, or `managed`."""
    path = socket_of(endpoint)
    return endpoint == "managed" or (
        path.startswith("/") and len(path.encode()) <= MAX_SOCKET_PATH and "\0" not in path
    )


def is_url(url: str) -> bool:
    return re.match(r"https?://[^\s/]", url) is not None


def is_trace_endpoint(endpoint: str) -> bool:
    if re.search(r"\s", endpoint):
        return False
    return endpoint.partition(":")[0] in {"dns", "unix", "unix-abstract"} or "//" not in endpoint


def wrong_gate(config: KubeletConfiguration, name: str, value: bool) -> str:
    known = feature_gates.GATES.get(name)
    if known is None:
        return "unknown feature gate"
    if known.locked and value != known.default:
        return f"this feature gate is locked to {str(known.default).lower()}"
    return ""


def refused_gate(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    for name, why in REFUSED_GATES.items():
        if config.featureGates.get(name):
            yield f"featureGates.{name}", True, f"is not supported: {why}"


def gate_dependencies(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    for name, off in feature_gates.broken_dependencies(config.featureGates):
        yield f"featureGates.{name}", True, f"is on and needs {', '.join(off)}, off here: turn on or off both"


def wrong_taint(config: KubeletConfiguration, index: str, taint: Taint) -> str:
    problems = []
    if problem := names.wrong_qualified_name(taint.key):
        problems.append(f"key {problem}")
    if problem := names.wrong_label_value(taint.value):
        problems.append(f"value {problem}")
    if taint.effect not in _EFFECTS:
        problems.append(f"effect must be one of {', '.join(_EFFECTS)}")
    if taint.timeAdded is not None:
        problems.append("timeAdded must not be given")
    before = config.registerWithTaints[: int(index)]
    if any((other.key, other.effect) == (taint.key, taint.effect) for other in before):
        problems.append("must name each key and effect once")
    return "; ".join(problems)


def wrong_sysctl(config: KubeletConfiguration, index: str, pattern: str) -> str:
    name = pattern.removesuffix("*").rstrip("./-_") if pattern.endswith("*") else pattern
    if len(pattern) > 253 or not _SYSCTL.match(name):
        return "must be the name of a sysctl, or its beginning with a trailing *"
    if not _NAMESPACED_SYSCTL.match(normalized(pattern)):
        return "must be in a group with a namespace: kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*"
    return ""


def wrong_allowlisted(config: KubeletConfiguration, index: str, image: str) -> str:
    if not _IMAGES_BELOW.match(image) and not is_image_name(image):
        return "must be an image name without tag and digest, * only as a trailing /*"
    return ""


def wrong_vmodule(config: KubeletConfiguration, index: str, item: VModule) -> str:
    if not item.filePattern or "=" in item.filePattern or "," in item.filePattern:
        return "filePattern is required and must not contain = or a comma"
    if not 0 <= item.verbosity < 1 << 31:
        return "verbosity must be from 0 to 2147483647"
    return ""


def log_options(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    """Alpha options of the log formats need their gate; buffers are quantities."""
    from .resource_checks import is_quantity

    allowed = gate(config, "LoggingAlphaOptions")
    for name in ("text", "json"):
        options = getattr(config.logging.options, name)
        path = f"logging.options.{name}"
        if not is_quantity(options.infoBufferSize):
            yield f"{path}.infoBufferSize", options.infoBufferSize, "must be a quantity"
        elif not allowed and parse(options.infoBufferSize) != 0:
            yield f"{path}.infoBufferSize", options.infoBufferSize, "needs the feature gate LoggingAlphaOptions"
        if not allowed and options.splitStream:
            yield f"{path}.splitStream", True, "needs the feature gate LoggingAlphaOptions"


def pull_verification(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    """imagePullCredentialsVerificationPolicy and its allow list."""
    policy, listed = config.imagePullCredentialsVerificationPolicy, config.preloadedImagesVerificationAllowlist
    if gate(config, "KubeletEnsureSecretPulledImages"):
        if policy not in PULL_POLICIES:
            yield "imagePullCredentialsVerificationPolicy", policy, f"must be one of {', '.join(PULL_POLICIES)}"
    elif policy:
        needed = "must be empty without the feature gate KubeletEnsureSecretPulledImages"
        yield "imagePullCredentialsVerificationPolicy", policy, needed
    if listed and policy != "NeverVerifyAllowlistedImages":
        yield "preloadedImagesVerificationAllowlist", listed, "needs the policy NeverVerifyAllowlistedImages"


def shutdown(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    """The three ways to configure a node's shutdown."""
    total, critical = config.shutdownGracePeriod, config.shutdownGracePeriodCriticalPods
    for name, value in (("shutdownGracePeriod", total), ("shutdownGracePeriodCriticalPods", critical)):
        if value < 0 or 0 < value < 1:
            yield name, value, "must be 0s, or 1s or more"
        elif value and not gate(config, "GracefulNodeShutdown"):
            yield name, value, "needs the feature gate GracefulNodeShutdown"
    if critical > total:
        yield "shutdownGracePeriodCriticalPods", critical, "must be at most shutdownGracePeriod"
    if config.shutdownGracePeriodByPodPriority:
        if not gate(config, "GracefulNodeShutdownBasedOnPodPriority"):
            needed = "needs the feature gate GracefulNodeShutdownBasedOnPodPriority"
            yield "shutdownGracePeriodByPodPriority", _SET, needed
        if total or critical:
            others = "cannot be combined with shutdownGracePeriod or shutdownGracePeriodCriticalPods"
            yield "shutdownGracePeriodByPodPriority", _SET, others


_SET: Final = "set"
