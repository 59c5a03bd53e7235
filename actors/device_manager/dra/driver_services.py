"""The services that a driver offers, and which of them is used. Pure.

The error texts are the kubelet's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import msgspec

_PLUGIN: Final = {"v1.DRAPlugin": "v1", "v1beta1.DRAPlugin": "v1beta1"}
"""Newest first."""
UNLISTED_HEALTH: Final = "v1alpha1"
"""The version of DRAResourceHealth for which a driver is asked that lists none: the kubelet asks each driver."""
_HEALTH: Final = {"v1.DRAResourceHealth": "v1", "v1alpha1.DRAResourceHealth": "v1alpha1"}


class ServiceError(ValueError):
    """The driver offers no version that the agent supports; the text lists both."""


class DriverService(msgspec.Struct, frozen=True):
    version: str
    """The version of DRAPlugin: `v1`, `v1beta1`."""
    health_version: str = ""
    """The version of DRAResourceHealth; '' if it is not listed."""


def choose(offered: Sequence[str]) -> DriverService:
    """The newest of the offered services. Raises ServiceError."""
    if not offered:
        raise ServiceError("empty list of supported gRPC services (aka supported versions)")
    version = next((version for service, version in _PLUGIN.items() if service in offered), "")
    if not version:
        supported = _list([*_PLUGIN])
        text = f"none of services supported by the plugin ({_list(offered)}) are supported by the kubelet ({supported})"
        raise ServiceError(text)
    health = next((version for service, version in _HEALTH.items() if service in offered), "")
    return DriverService(version, health)


def _list(names: Sequence[str]) -> str:
    """The list as Go's %q writes it."""
    return f"[{' '.join(map(json.dumps, names))}]"
