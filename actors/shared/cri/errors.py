"""What can go wrong when the runtime is asked. gRPC's own exceptions end at the transport; callers see these.

Runtimes answer most failures as UNKNOWN: decide by what a status call says, not by the text.
"""

from __future__ import annotations

import re

from actors.shared.kube.go_text import rpc_error


class CriError(Exception):
    """A call failed. `method` is the CRI method, `code` the gRPC code's name, `details` the runtime's words."""

    def __init__(self, method: str, code: str, details: str) -> None:
        super().__init__(method, code, details)
        self.method, self.code, self.details = method, code, details

    def __str__(self) -> str:
        return f"{self.method}: {self.details or self.code}"

    @property
    def rpc_text(self) -> str:
        """As the reference prints it."""
        return rpc_error(self.code, self.details)


class NotFound(CriError):
    """The runtime does not know the id (or, when a container is made, the image or the sandbox)."""


class Unavailable(CriError):
    """The runtime cannot be reached or is not ready yet. The channel connects again by itself."""


class DeadlineExceeded(CriError):
    """No answer in time; what was asked for may still happen."""


class Unimplemented(CriError):
    """The runtime does not have this method."""


class NameReserved(CriError):
    """Something with the same name and attempt exists or is being made; `id` is its id, '' where not told."""

    @property
    def id(self) -> str:
        found = _RESERVED.search(self.details)
        return (found.group(1) or "") if found else ""


class StillStarting(CriError):
    """A start of container `id` is under way, maybe one that its caller gave up: the container can be neither started
    nor removed."""

    @property
    def id(self) -> str:
        found = _STARTING.search(self.details)
        return found[1] if found else ""


class IncompatibleVersion(CriError):
    """The runtime speaks another version of CRI."""


class Other(CriError):
    """Any other failure of the runtime."""


def is_answer(error: CriError) -> bool:
    """Whether the runtime has said so itself: it is not silent."""
    return not isinstance(error, Unavailable | DeadlineExceeded)


class EndpointError(ValueError):
    """An endpoint that is not a Unix socket's path; the text names the flag."""


_RESERVED = re.compile(r'name .*\bis reserved(?: for "?([0-9A-Za-z]+))?', re.DOTALL)
_STARTING = re.compile(r'container "([0-9A-Za-z]+)": container is (?:already )?in starting state')
_REGISTRY = ("failed to pull", "failed to resolve", "RegistryUnavailable")
_BY_CODE: dict[str, type[CriError]] = {
    "NOT_FOUND": NotFound,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "UNIMPLEMENTED": Unimplemented,
}


def from_rpc(method: str, code: str, details: str) -> CriError:
    """The error for a gRPC status. `code` is the name of the gRPC code, e.g. NOT_FOUND."""
    if code not in _BY_CODE and _RESERVED.search(details):
        return NameReserved(method, code, details)
    if code not in _BY_CODE and _STARTING.search(details):
        return StillStarting(method, code, details)
    if method == "PullImage" and code == "UNAVAILABLE" and details.startswith(_REGISTRY):
        return Other(method, code, details)  # what containerd 2 makes of a registry's 503: it is well itself
    if code == "UNKNOWN" and details.endswith("server is not initialized yet"):
        return Unavailable(method, code, details)  # containerd 1.6 answers so until its CRI plug-in is up
    return _BY_CODE.get(code, Other)(method, code, details)
