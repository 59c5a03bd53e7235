"""The errors of CRI calls. The transport turns gRPC's exceptions into these.

Runtimes return most failures as UNKNOWN: decide by the result of a status call, not by the text.
"""

from __future__ import annotations

import re

from actors.shared.kube.go_text import client_details, rpc_error, unwrapped


class CriError(Exception):
    """A call failed. `method` is the CRI method, `code` the gRPC code's name, `details` the runtime's message."""

    def __init__(self, method: str, code: str, details: str) -> None:
        super().__init__(method, code, details)
        self.method, self.code, self.details = method, code, details

    def __str__(self) -> str:
        return f"{self.method}: {self.details or self.code}"

    @property
    def rpc_text(self) -> str:
        """The error as the kubelet prints it."""
        return rpc_error(self.code, self.details)


class NotFound(CriError):
    """The runtime does not know the ID (for CreateContainer: the image or the sandbox)."""


class Unavailable(CriError):
    """The runtime cannot be reached or is not ready yet. The channel reconnects by itself."""


class WithoutCri(Unavailable):
    """The program answers, but has no CRI: that of containerd is a plug-in, which is not loaded yet, or never."""


class DeadlineExceeded(CriError):
    """No answer in time; the runtime may still complete the call."""


class Unimplemented(CriError):
    """The runtime does not have this method."""


class NameReserved(CriError):
    """An object with the same name and attempt exists or is in creation. `id` is its ID, '' if not reported."""

    @property
    def id(self) -> str:
        match = _RESERVED.search(self.details)
        return (match.group(1) or "") if match else ""


class StillCreating(NameReserved):
    """An earlier create of this name has not ended yet; its caller may be gone."""


class StillStarting(CriError):
    """A start of container `id` is in progress; its caller may be gone. The container can be neither started nor
    removed."""

    @property
    def id(self) -> str:
        match = _STARTING.search(self.details)
        return match[1] if match else ""


class AnswerTooLarge(CriError):
    """The call went through, but its answer is larger than 16 MiB, and was not read."""


class IncompatibleVersion(CriError):
    """The runtime speaks another version of CRI."""


class RuntimeFailure(CriError):
    """Any other failure of the runtime."""


def is_answer(error: CriError) -> bool:
    """Whether the error came from the runtime itself, so that the runtime answers."""
    return not isinstance(error, Unavailable | DeadlineExceeded)


class EndpointError(ValueError):
    """An endpoint that is not a Unix socket's path; the text names the flag."""


_RESERVED = re.compile(r'name .*\bis reserved(?: for "?([0-9A-Za-z]+))?', re.DOTALL)
_STARTING = re.compile(r'container "([0-9A-Za-z]+)": container is (?:already )?in starting state')
_TOO_LARGE = "CLIENT: Received message larger than max"
"""The text of gRPC's client side."""
_NO_SERVICE = "unknown service runtime.v1."
_NOT_IMPLEMENTED = "not implemented"
_OVERDUE = "context deadline exceeded"
_ENDED = re.compile(r"\bRST_STREAM with error code 8\b")
"""CANCEL, of RFC 9113, section 7, in the words of gRPC's client side."""
_REGISTRY = ("failed to pull", "failed to resolve", "RegistryUnavailable")
_BY_CODE: dict[str, type[CriError]] = {
    "NOT_FOUND": NotFound,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "UNIMPLEMENTED": Unimplemented,
}


def from_rpc(method: str, code: str, details: str, *, overdue: bool = False) -> CriError:
    """The error for a gRPC status. `code` is the name of the gRPC code, e.g. NOT_FOUND. `overdue`: it came when the
    deadline of the call was over. The runtime knows the deadline, and may say so before the client does: containerd
    with UNKNOWN, when its shim does not answer, and the gRPC server of any runtime by the end of the stream alone."""
    if overdue and code == "CANCELLED" and _ENDED.search(details):
        return DeadlineExceeded(method, "DEADLINE_EXCEEDED", _OVERDUE)
    kind = DeadlineExceeded if overdue and _OVERDUE in details else _kind(method, code, details)
    return kind(method, code, client_details(details))


def _kind(method: str, code: str, details: str) -> type[CriError]:
    if code not in _BY_CODE and _RESERVED.search(details):
        return NameReserved
    if code not in _BY_CODE and _STARTING.search(details):
        return StillStarting
    if method == "PullImage" and code == "UNAVAILABLE" and details.startswith(_REGISTRY):
        return RuntimeFailure  # containerd 2 returns this for a registry's 503: the runtime itself works
    if code == "RESOURCE_EXHAUSTED" and unwrapped(details).startswith(_TOO_LARGE):
        return AnswerTooLarge
    if code == "UNKNOWN" and details.endswith("server is not initialized yet"):
        return Unavailable  # the answer of containerd 1.6 until its CRI plug-in is up
    if method == "UpdatePodSandboxResources" and code == "UNKNOWN" and _NOT_IMPLEMENTED in details:
        return Unimplemented  # containerd 2.2 says "not implemented yet"
    if code == "UNIMPLEMENTED" and _NO_SERVICE in details:
        return WithoutCri  # its answer before that, or with the plug-in turned off: no method is known to be missing
    return _BY_CODE.get(code, RuntimeFailure)
