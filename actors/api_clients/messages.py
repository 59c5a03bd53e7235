"""What the clients of the API server are told and asked."""

from __future__ import annotations

from typing import ClassVar, Literal

from supervision.message import Message


class GetClientState(Message, frozen=True):
    """Answered with ClientState."""


class ClientState(Message, frozen=True):
    """`standalone`: no kubeconfig was given, so nobody is asked. `unjoined`: one was, and nobody is asked either."""

    client: str
    mode: Literal["standalone", "unjoined"]
    server: str = ""


class RecordEvent(Message, frozen=True, kw_only=True):
    """From any actor: something that a user should know of an object."""

    kind: str
    """Pod or Node."""
    namespace: str = ""
    name: str
    uid: str = ""
    type: Literal["Normal", "Warning"]
    reason: str
    """As in the reference's list of events."""
    message: str
    field: str = ""
    """`spec.containers{name}` for an event of a container."""
    coalesce: ClassVar[tuple[str, ...]] = ("kind", "namespace", "name", "uid", "reason", "message", "field")
