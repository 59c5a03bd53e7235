"""The messages of the certificate manager."""

from __future__ import annotations

from typing import ClassVar, Final

from supervision.addresses import ActorName
from supervision.message import Message, Question

CERT_MANAGER: Final = ActorName("cert_manager")


class GetServingCertificate(Question["ServingCertificate"], frozen=True):
    """From a server. Answered with ServingCertificate."""


class ServingCertificate(Message, frozen=True):
    """Answer, and sent to the servers when a file has changed (`version` increases). Paths of PEM files."""

    cert_file: str
    key_file: str
    client_ca_file: str
    """'' when none is configured: clients cannot authenticate by certificate."""
    version: int
    coalesce: ClassVar[tuple[str, ...]] = ()


class NodeAddresses(Message, frozen=True):
    """From heartbeat_client, on change and on Hello: the addresses of the node object, for the serving
    certificate that the cluster signs."""

    ips: list[str]
    names: list[str]
    """Hostname and DNS names."""
    coalesce: ClassVar[tuple[str, ...]] = ()
