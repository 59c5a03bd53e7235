"""What the certificate manager is asked, and what it tells the servers."""

from __future__ import annotations

from typing import ClassVar

from supervision.message import Message


class GetServingCertificate(Message, frozen=True):
    """From a server. Answered with ServingCertificate."""


class ServingCertificate(Message, frozen=True):
    """Answer, and sent to the servers when any of the files changed (`version` counts up). Paths of PEM files."""

    cert_file: str
    key_file: str
    client_ca_file: str
    """'' when there is none: clients cannot authenticate by certificate."""
    version: int
    coalesce: ClassVar[tuple[str, ...]] = ()
