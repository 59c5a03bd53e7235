"""The declaration of the certificate manager."""

from __future__ import annotations

from typing import Final

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.shared.declaration import Declaration

from .messages import CERT_MANAGER

DECLARATION: Final = Declaration(
    name=CERT_MANAGER,
    actor="actors.cert_manager.actor:CertManager",
    reads=(
        "tlsCertFile",
        "tlsPrivateKeyFile",
        "rotateCertificates",
        "serverTLSBootstrap",
        "authentication",
        "contentType",
    ),
    fed_by=(HEARTBEAT_CLIENT,),
    preload_joined=("actors.cert_manager.client_certificate",),
)
