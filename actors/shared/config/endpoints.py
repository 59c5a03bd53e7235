"""Endpoints of a container runtime: the path of a Unix socket, with or without `unix://`. Pure."""

from __future__ import annotations

from typing import Final

SCHEME: Final = "unix://"
MAX_SOCKET_PATH: Final = 107
"""Bytes of sun_path without its NUL, unix(7)."""
RUNTIME_SOCKETS: Final = (
    "/run/containerd/containerd.sock",
    "/var/run/crio/crio.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
)
"""The sockets of runtimes to try, in order, if no endpoint is given."""


def socket_of(endpoint: str) -> str:
    """The path of the socket; an endpoint of another scheme as it is."""
    return endpoint.removeprefix(SCHEME)


def address_of(endpoint: str) -> str:
    """With a scheme: that of the endpoint, else `unix://`."""
    return endpoint if "://" in endpoint else f"{SCHEME}{endpoint}"
