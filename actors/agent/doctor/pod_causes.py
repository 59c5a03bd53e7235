"""Why a pod does not run, from its status and its events, and what mends it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from actors.agent.inspection import event_rows
from actors.agent.inspection.node_pods import full_name
from actors.agent.inspection.pod_rows import state
from actors.api_clients.messages import RecentEvent

Object = dict[str, Any]
MOST: Final = 300
"""The most characters of a reason that are shown. The end is kept, because runtimes put the cause there."""
DOCKER_HUB: Final = "registry-1.docker.io"
"""The host with the images of docker.io, the default registry."""
_ASKED: Final = re.compile(r'"(https?://[^/"]+)/v2/')
_NO_CAUSE: Final = frozenset({"BackOff", "MissingClusterDNS", "Killing", "FailedSync"})
"""Reasons of warnings that report a state without its cause."""
_CRASHES: Final = frozenset({"CrashLoopBackOff", "Error", "Completed"})
_NOT_SAID: Final = frozenset({"ContainerCreating", "PodInitializing", ""})

_CNI_PLUGINS: Final = "bridge|host-local|portmap|loopback|firewall|bandwidth|tuning|dhcp|ptp|macvlan|ipvlan|vlan|static"
"""Those of the package containernetworking-plugins."""
NETWORK_PLUGIN: Final = (
    "ls /etc/cni/net.d /opt/cni/bin: if both are empty, install the cluster's network plugin (kubectl apply -f ...); "
    "else restart the runtime, which does not see each change"
)
_REMEDIES: Final = tuple(
    (re.compile(sign, re.IGNORECASE), remedy)
    for sign, remedy in (
        ("expected cgroupsPath to be of format", "cgroupDriver: systemd, as the runtime has; then restart the agent"),
        ("unable to (apply|start).*(systemd|dbus|scope)", "cgroupDriver: cgroupfs, as no systemd runs; then restart"),
        ("NetworkPluginNotReady|cni plugin not initialized|cni config uninitialized",
         NETWORK_PLUGIN),
        (f'failed to find plugin "({_CNI_PLUGINS})"',
         "apt-get install containernetworking-plugins; bin_dir of the runtime must name them"),
        ("failed to find plugin",
         "install the cluster's network plugin, or remove the file in /etc/cni/net.d that names one that is not there"),
        ("no space left on device|disk quota exceeded", "df -h; df -i; du -xh / | sort -h | tail"),
        ("x509: |certificate signed by unknown", "the registry's CA into certs.d/HOST/hosts.toml of the runtime"),
        ("pull access denied|unauthorized|authentication required|authorization failed|401|403 forbidden",
         "imagePullSecrets of the pod must name a secret with the registry's password"),
        ("no such host|i/o timeout|connection refused|network is unreachable|proxyconnect",
         "the registry is not reached from this node: curl -v {registry}/v2/"),
        ("manifest unknown|failed to resolve reference|not found.*\\bimage\\b|\\bimage\\b.*not found",
         "correct the image in the pod, or push it: {image}"),
        ("InvalidImageName|invalid reference format", "correct the image in the pod: {image}"),
        ("ErrImageNeverPull", "put the image on the node, or imagePullPolicy: IfNotPresent: {image}"),
        ("(secret|configmap) .*not found", "kubectl -n {namespace} get secrets,configmaps: make the one that is named"),
        ("runAsNonRoot", "set runAsUser in the pod, or take an image with a user of its own"),
        ("executable file not found|no such file or directory.*exec|exec format error",
         "correct command in the pod; of another architecture, the image: {image}"),
        ("OOMKilled|out of memory", "raise resources.limits.memory of the container"),
        ("OutOf|Insufficient|doesn't fit|didn't have enough", "supervise pods -o wide: end others, or ask for less"),
    )
)  # fmt: skip
"""In the order in which they are tried."""


class Cause(msgspec.Struct, frozen=True):
    text: str
    """'' if nothing says why."""
    remedy: str


def cause(pod: Object, events: Sequence[RecentEvent]) -> Cause:
    """`events`: of the whole node."""
    metadata = pod["metadata"]
    own = event_rows.of_object(events, "Pod", metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""))
    text, container = next(_causes(pod, own), ("", "")) if state(pod) != "Terminating" else (_warning(own), "")
    name = full_name(pod)
    remedy = next((remedy for sign, remedy in _REMEDIES if sign.search(text or state(pod))), "")
    if not remedy and container:
        remedy = f"supervise logs {name} -c {container} --previous"
    image = next((one.get("image", "") for one in _containers(pod) if one.get("image", "") in text), "")
    image = image or _images(pod)
    made = remedy.format(image=image, namespace=metadata.get("namespace", ""), registry=_registry(text, image))
    return Cause(shortened(text), made or f"supervise describe pod {name}")


def _causes(pod: Object, events: Sequence[RecentEvent]) -> Iterator[tuple[str, str]]:
    """Texts that explain the state, the best first, and the container whose log may say more."""
    status = pod.get("status", {})
    for one in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        now, last = one.get("state") or {}, (one.get("lastState") or {}).get("terminated")
        waiting, ended = now.get("waiting") or {}, now.get("terminated")
        if waiting.get("reason", "") in _CRASHES and last:
            yield f"{one['name']} {_end_text(last)}", one["name"]
        elif waiting.get("message") and waiting.get("reason", "") not in _NOT_SAID:
            yield f"{one['name']}: {waiting['message']}", ""
        elif ended and ended.get("exitCode"):
            yield f"{one['name']} {_end_text(ended)}", one["name"]
    if status.get("message"):
        yield f"{status.get('reason', '')}: {status['message']}".lstrip(": "), ""
    if newest := _warning(events):
        yield newest, ""


def _warning(events: Sequence[RecentEvent]) -> str:
    """The newest event that gives a cause; '' for none."""
    warnings = [event for event in events if event.type == "Warning" and event.reason not in _NO_CAUSE]
    if not warnings:
        return ""
    newest = max(warnings, key=lambda event: event.last)
    return f"{newest.reason}: {' '.join(newest.message.split())}"


def _end_text(ended: Object) -> str:
    said = ": ".join(part for part in (ended.get("reason"), ended.get("message")) if part and part != "Error")
    return f"ended with exit code {ended.get('exitCode')}{f', {said}' if said else ''}"


def _containers(pod: Object) -> list[Object]:
    spec = pod.get("spec", {})
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _images(pod: Object) -> str:
    return ", ".join(dict.fromkeys(one.get("image", "") for one in _containers(pod)))


def _registry(text: str, image: str) -> str:
    """The address that the runtime asked, else that of the image's registry."""
    if asked := _ASKED.search(text):
        return asked[1]
    first, slash, _ = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return f"https://{first if named and first != 'docker.io' else DOCKER_HUB}"


def shortened(text: str) -> str:
    """At most MOST characters of the text: its beginning and its end."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST else f"{flat[:80]} ... {flat[-(MOST - 85) :]}"
