"""What an endpoint is: its paths, who may ask, which server answers under which configuration, and how.

Each module of `endpoints` declares one; routes, permissions and labels of metrics are derived from that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

Answer = Callable[..., Coroutine[Any, Any, None]]
"""Called with the handler, and the names of the path as keyword arguments. May raise Refused."""
PROXY: Final = ("proxy",)
_NAME: Final = re.compile(r"\{([a-z]+)(\*?)\}")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One path of the node's HTTP API, or a few that are answered alike."""

    paths: tuple[str, ...]
    """`{name}` stands for one segment, `{name*}` for the rest of the path."""
    answers: Mapping[str, Answer]
    """By HTTP method."""
    subresources: tuple[str, ...] = PROXY
    """Subresources of the node: a permission for any of them lets a caller in (KEP-2862)."""
    permission_prefix: str = ""
    """Paths below it need the same permission; empty: those below the endpoint's own."""
    on_read_only_server: bool = False
    """Served by both servers, whatever is configured; else by the node server, with enableDebuggingHandlers."""
    open_standalone: bool = False
    """Without an API server no credentials are needed."""
    gate: str = ""
    """Feature gate without which there is no such path."""
    switch: Callable[[KubeletConfiguration], bool] | None = None
    """Reads the field of the configuration that, when it is false, disables the endpoint."""
    disabled_is_said: bool = False
    """Where debugging handlers are off, the answer is 405 rather than 404."""
    long_running: bool = False
    """Label of its metrics: how long an answer takes is up to the caller."""

    @property
    def prefix(self) -> str:
        """The path up to the first name: `/exec` of `/exec/{namespace}/{pod}/{container}`."""
        return self.paths[0].partition("{")[0].rstrip("/")


class Availability(Enum):
    SERVED = "served"
    DISABLED = "disabled"
    """405: it exists, and is switched off."""
    ABSENT = "absent"
    """404"""


def availability(endpoint: Endpoint, config: KubeletConfiguration, *, read_only: bool) -> Availability:
    """Whether a server with this configuration answers. `read_only`: it is the read-only server."""
    if endpoint.gate and not enabled(endpoint.gate, config.featureGates):
        return Availability.ABSENT
    if not endpoint.on_read_only_server and (read_only or not config.enableDebuggingHandlers):
        return Availability.DISABLED if endpoint.disabled_is_said else Availability.ABSENT
    if endpoint.switch is not None and not endpoint.switch(config):
        return Availability.DISABLED
    return Availability.SERVED


def pattern(path: str) -> str:
    """The regular expression of a path; one without a name may end in a slash."""
    if "{" not in path:
        return re.escape(path) + "/?"
    parts = _NAME.split(path)
    found = re.escape(parts[0])
    for name, rest, plain in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found += f"(?P<{name}>{'.*' if rest else '[^/]+'})" + re.escape(plain)
    return found


def permissions(endpoints: Iterable[Endpoint]) -> Callable[[str], tuple[str, ...]]:
    """A function from the path of a request (not decoded) to the subresources that let a caller in."""
    known = {one.permission_prefix or one.prefix: one.subresources for one in endpoints if one.subresources != PROXY}

    def subresources(path: str) -> tuple[str, ...]:
        for prefix, found in known.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                return found
        return PROXY

    return subresources
