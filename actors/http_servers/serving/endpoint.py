"""The declaration of an endpoint: its paths, permission, server, the configuration that it needs, its functions.

Each module of `endpoints` has one. Routes, permissions and metric labels are derived from them.
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
"""Called with the handler, and the names of the path as keyword arguments. May raise HttpError."""
PROXY: Final = ("proxy",)
_NAME: Final = re.compile(r"\{([a-z]+)(\*?)\}")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the node's HTTP API, or several with the same answer."""

    paths: tuple[str, ...]
    """`{name}` matches one segment, `{name*}` the rest of the path."""
    answers: Mapping[str, Answer]
    """By HTTP method."""
    heads: bool = False
    """HEAD is answered like GET, without the body: load balancers and monitoring ask so."""
    subresources: tuple[str, ...] = PROXY
    """Subresources of the node: a permission for any of them lets a caller in (KEP-2862)."""
    permission_prefix: str = ""
    """The permission covers the paths below this one; empty: below the endpoint's own."""
    on_read_only_server: bool = False
    """Served by both servers in any configuration; else only by the node server with enableDebuggingHandlers."""
    open_standalone: bool = False
    """It needs no credentials on a standalone node."""
    gate: str = ""
    """Feature gate of the path; without it the answer is 404."""
    switch: Callable[[KubeletConfiguration], bool] | None = None
    """Reads the configuration field that disables the endpoint when it is false."""
    what: str = ""
    """The name of the disabled feature, for the answer."""
    answers_405_when_disabled: bool = False
    """The answer is 405, not 404, if debugging handlers are disabled."""
    exact: bool = False
    """Whether the path with a slash at its end does not exist. In the kubelet, plain handlers serve such paths, and
    REST services the others."""
    long_running: bool = False
    """Label of its metrics: the caller decides how long an answer takes."""

    @property
    def prefix(self) -> str:
        """The path up to the first name: `/exec` of `/exec/{namespace}/{pod}/{container}`."""
        return self.paths[0].partition("{")[0].rstrip("/")

    @property
    def page(self) -> str:
        """The path of what can be read here without a name of anything; empty where there is no such page."""
        return self.prefix if "GET" in self.answers and self.prefix in self.paths else ""


def metrics_endpoint(path: str, answers: Mapping[str, Answer]) -> Endpoint:
    """A page of metrics: on both servers, for a caller with permission for nodes/metrics."""
    return Endpoint(
        paths=(path,), answers=answers, heads=True, subresources=("metrics",), on_read_only_server=True, exact=True
    )


class Availability(Enum):
    SERVED = "served"
    DISABLED = "disabled"
    """405: it exists, but is disabled."""
    ABSENT = "absent"
    """404"""


def availability(endpoint: Endpoint, config: KubeletConfiguration, *, read_only: bool) -> Availability:
    """Whether a server with this configuration answers. `read_only`: it is the read-only server."""
    if endpoint.gate and not enabled(endpoint.gate, config.featureGates):
        return Availability.ABSENT
    if not endpoint.on_read_only_server and (read_only or not config.enableDebuggingHandlers):
        return Availability.DISABLED if endpoint.answers_405_when_disabled else Availability.ABSENT
    if endpoint.switch is not None and not endpoint.switch(config):
        return Availability.DISABLED
    return Availability.SERVED


def disabled_text(endpoint: Endpoint, config: KubeletConfiguration, *, read_only: bool) -> str:
    """The answer of an endpoint that is disabled: by its own switch, or with all paths for debugging."""
    by_switch = config.enableDebuggingHandlers and not read_only and endpoint.what
    return f"{endpoint.what} endpoint is disabled.\n" if by_switch else "Debug endpoints are disabled.\n"


def pattern(path: str, *, exact: bool = False) -> str:
    """The regular expression of a path; it may end in a slash unless it is exact."""
    end = "" if exact else "/?"
    if "{" not in path:
        return re.escape(path) + end
    parts = _NAME.split(path)
    found = re.escape(parts[0])
    for name, rest, plain in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found += f"(?P<{name}>{'.*' if rest else '[^/]+'})" + re.escape(plain)
    return found if path.endswith("*}") else found + end


def permissions(endpoints: Iterable[Endpoint]) -> Callable[[str], tuple[str, ...]]:
    """A function from the path of a request (not decoded) to the subresources that let a caller in."""
    known = {one.permission_prefix or one.prefix: one.subresources for one in endpoints if one.subresources != PROXY}

    def subresources(path: str) -> tuple[str, ...]:
        for prefix, found in known.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                return found
        return PROXY

    return subresources
