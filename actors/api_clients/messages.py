"""The message to all clients of the API server. The others are in the package of the client that gets them."""

from __future__ import annotations

from typing import ClassVar

from supervision.message import Message


class CredentialsChanged(Message, frozen=True):
    """From cert_manager to each client: the kubeconfig or client certificate has changed; connect again with it."""

    kubeconfig: str
    """Path; it names the certificate files."""
    version: int
    certificate: str = ""
    """PEM file with certificate and key that replace those of the kubeconfig; empty: none."""
    coalesce: ClassVar[tuple[str, ...]] = ()
