"""The API's grammars of names, labels, taints and IP addresses. Pure."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from actors.shared.kube.names import NODE_LABELS

_PART: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)

_OPEN_NAMESPACES: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")


def is_subdomain(text: str) -> bool:
    """RFC 1123 subdomain, such as a node name."""
    return len(text) <= 253 and _SUBDOMAIN.match(text) is not None


def wrong_qualified_name(key: str) -> str:
    """The rule that a label or taint key breaks; '' if it is valid."""
    prefix, mark, name = key.rpartition("/")
    if mark and not is_subdomain(prefix):
        return "must have a DNS subdomain before the /"
    if len(name) > 63 or not _PART.match(name):
        return "must be a name of at most 63 letters, digits, -, _ and ., starting and ending with a letter or digit"
    return ""


def wrong_label_value(value: str) -> str:
    """The rule that a label or taint value breaks; '' if it is valid."""
    if value and (len(value) > 63 or not _PART.match(value)):
        return "must be empty or at most 63 letters, digits, -, _ and ., starting and ending with a letter or digit"
    return ""


def wrong_node_label(key: str) -> str:
    """Why a node may not set this label of kubernetes.io or k8s.io on itself (KEP-279); '' if it may."""
    namespace = key.rpartition("/")[0]
    if not _is_in(namespace, ("kubernetes.io", "k8s.io")):
        return ""
    if key in NODE_LABELS or _is_in(namespace, _OPEN_NAMESPACES):
        return ""
    return "a node must not set this label of kubernetes.io or k8s.io on itself"


def _is_in(namespace: str, domains: tuple[str, ...]) -> bool:
    return any(namespace == domain or namespace.endswith(f".{domain}") for domain in domains)


def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
