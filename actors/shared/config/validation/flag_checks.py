"""The rules for flags that set no field: labels, addresses, directories, and flags that need others. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from actors.shared.config.errors import ConfigProblem, shown
from actors.shared.config.fields import names

from .node_checks import is_cgroup_name

Values = Mapping[str, Any]

_PAIRS: Final = (
    ("exit-on-lock-contention", "lock-file"),
    ("image-credential-provider-config", "image-credential-provider-bin-dir"),
    ("image-credential-provider-bin-dir", "image-credential-provider-config"),
    ("bootstrap-kubeconfig", "kubeconfig"),
)
"""(flag, the flag it needs)."""
_ANY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - means "choose the family", not an address to listen on
_MAX_WORKERS: Final = 256


def check(values: Values, given: Values) -> Iterator[ConfigProblem]:
    """Every broken rule. `values`: all flags that set no field; `given`: those on the command line."""
    for name, wrong in _CHECKS.items():
        problem = wrong(values, values[name])
        if problem:
            yield ConfigProblem(f"--{name}", shown(values[name]), problem)
    for name, needed in _PAIRS:
        if values[name] and not values[needed]:
            yield ConfigProblem(f"--{name}", shown(values[name]), f"needs --{needed}")
    for name in ("windows-service", "windows-priorityclass"):
        if name in given:
            yield ConfigProblem(f"--{name}", shown(given[name]), "this agent runs on Linux")


def _wrong_labels(values: Values, labels: dict[str, str]) -> str:
    for key, value in labels.items():
        problem = names.wrong_qualified_name(key) or names.wrong_node_label(key)
        if problem:
            return f"label {key[:80]}: {problem}"
        problem = names.wrong_label_value(value)
        if problem:
            return f"label {key[:80]}: its value {problem}"
    return ""


def _wrong_node_ip(values: Values, text: str) -> str:
    if not text:
        return ""
    addresses = [address.strip() for address in text.split(",")]
    if not all(names.is_ip(address) for address in addresses):
        return "must be an IP address, or two by comma"
    if len(addresses) > 1 and any(address in _ANY_ADDRESS for address in addresses):
        return "two addresses must not include 0.0.0.0 or ::, which choose the default address of one family"
    if len(addresses) > 2 or (len(addresses) == 2 and (":" in addresses[0]) == (":" in addresses[1])):
        return "two addresses must be one of IPv4 and one of IPv6"
    return ""


def _wrong_cloud(values: Values, name: str) -> str:
    return "" if name in {"", "external"} else "must be empty or external: there are no cloud providers in the agent"


def _wrong_host(values: Values, name: str) -> str:
    name = name.strip().lower()
    return "" if not name or names.is_subdomain(name) else "must be a DNS name (RFC 1123 subdomain)"


def _wrong_directory(values: Values, path: str) -> str:
    if not path or posixpath.normpath(path) != (path.rstrip("/") or "/"):
        return "must be a clean path"
    return ""


def _wrong_cgroup(values: Values, name: str) -> str:
    return "" if is_cgroup_name(name) else "must be the name of a cgroup, without .."


def _negative(values: Values, value: float) -> str:
    return "must not be negative" if value < 0 else ""


def _wrong_workers(values: Values, count: int) -> str:
    return "" if 0 <= count <= _MAX_WORKERS else f"must be from 0 to {_MAX_WORKERS}"


_CHECKS: Final[dict[str, Callable[[Values, Any], str]]] = {
    "node-labels": _wrong_labels,
    "node-ip": _wrong_node_ip,
    "cloud-provider": _wrong_cloud,
    "hostname-override": _wrong_host,
    "root-dir": _wrong_directory,
    "cert-dir": _wrong_directory,
    "runtime-cgroups": _wrong_cgroup,
    "minimum-container-ttl-duration": _negative,
    "workers": _wrong_workers,
}
