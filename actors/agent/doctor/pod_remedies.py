"""Remedies for pods, by the reason from the agent or the runtime. Pure."""

from __future__ import annotations

import re
from typing import Final

DOCKER_HUB: Final = "registry-1.docker.io"
"""The host with the images of docker.io, the default registry."""
_REGISTRY_URL: Final = re.compile(r'"(https?://[^/"]+)/v2/')
_OF_IMAGES: Final = re.compile(
    r"\b(ErrImage\w*|Image(PullBackOff|InspectError)|InvalidImageName|RegistryUnavailable|SignatureValidationFailed)\b"
    r"|(pull|unpack|sandbox) image"
)
"""Reasons that are about an image."""
_CNI_PLUGINS: Final = "bridge|host-local|portmap|loopback|firewall|bandwidth|tuning|dhcp|ptp|macvlan|ipvlan|vlan|static"
"""The plugins of the package containernetworking-plugins."""


_Table = tuple[tuple[re.Pattern[str], str], ...]


def _table(*rows: tuple[str, str]) -> _Table:
    return tuple((re.compile(sign, re.IGNORECASE), remedy) for sign, remedy in rows)


_REMEDIES: Final = _table(
    ("expected cgroupsPath to be of format", "cgroupDriver: systemd, as the runtime has; then restart the agent"),
    ("unable to (apply|start).*(systemd|dbus|scope)", "cgroupDriver: cgroupfs, as no systemd runs; then restart"),
    ("NetworkPluginNotReady|cni plugin not initialized|cni config uninitialized",
     "supervise status: what mends the pod network"),
    (f'failed to find plugin "({_CNI_PLUGINS})"',
     "apt-get install containernetworking-plugins; bin_dir of the runtime must name them"),
    ("failed to find plugin",
     "install the cluster's network plugin, or remove the file in /etc/cni/net.d that names one that is not there"),
    ("hostPath type check failed", "make it on this node, or correct path or type of the volume"),
    ("NodePorts|free ports for the requested", "end the pod that has the host port, or take another hostPort"),
    ("no space left on device|disk quota exceeded", "df -h; df -i; du -xh / | sort -h | tail"),
    ("(secret|configmap) .*not found", "kubectl -n {namespace} get secrets,configmaps: make the one that is named"),
    ("persistentvolumeclaims? .*not found", "kubectl -n {namespace} get pvc: make the one that is named"),
    ("NodeAffinity",
     "kubectl get nodes --show-labels: label the node, or correct nodeSelector; create a rejected pod again"),
    ("containers run that the runtime does not list",
     "they are of another runtime or root directory: end them there, or start the agent with that one"),
    ("runAsNonRoot", "set runAsUser in the pod, or take an image with a user of its own"),
    ("executable file not found|exec: .*: (no such file or directory|permission denied|is a directory)"
     "|no such file or directory.*exec|exec format error",
     "correct command in the pod; or is the image {image} of another architecture?"),
    ("OOMKilled|out of memory", "raise resources.limits.memory of the container"),
    ("OutOf|Insufficient|doesn't fit|didn't have enough|no set of running pods found to reclaim resources",
     "supervise pods -o wide: end others, or ask for less"),
)  # fmt: skip
"""(pattern of a reason, its remedy); the first match counts."""
_IMAGE_REMEDIES: Final = _table(
    ("x509: |certificate signed by unknown", "the registry's CA into certs.d/HOST/hosts.toml of the runtime"),
    (r"pull access denied|unauthorized|authentication required|authorization failed|\b401\b|403 forbidden",
     "imagePullSecrets of the pod must name a secret with the registry's password"),
    ("no such host|i/o timeout|connection refused|network is unreachable|proxyconnect",
     "the registry is not reached from this node: curl -v {registry}/v2/"),
    ("manifest unknown|failed to resolve reference|not found.*\\bimage\\b|\\bimage\\b.*not found",
     "correct the image in the pod, or push it: {image}"),
    ("InvalidImageName|invalid reference format", "correct the image in the pod: {image}"),
    ("ErrImageNeverPull", "put {image} on the node, or set imagePullPolicy: IfNotPresent"),
)  # fmt: skip
"""Remedies of reasons that concern an image: a volume or a network plugin may also say `connection refused`."""


def remedy_for(sign: str, image: str, namespace: str) -> str:
    """The remedy for a pod whose problem is `sign`, `REASON: MESSAGE`; '' if none is known. `image`: the one
    that the trouble is about."""
    table = _REMEDIES + (_IMAGE_REMEDIES if _OF_IMAGES.search(sign) else ())
    remedy = next((remedy for pattern, remedy in table if pattern.search(sign)), "")
    return remedy.format(image=image, namespace=namespace, registry=_registry(sign, image))


def of_pull(image: str) -> str:
    """The remedy for a pull that goes on and on."""
    return f"is the registry slow, or the runtime? curl -v {_registry('', image)}/v2/"


def _registry(text: str, image: str) -> str:
    """The address that the runtime asked, else the address of the image's registry."""
    if found := _REGISTRY_URL.search(text):
        return found[1]
    first, slash, _ = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return f"https://{first if named and first != 'docker.io' else DOCKER_HUB}"
