"""What mends requests for client certificates."""

from __future__ import annotations

from typing import Final

from actors.shared.api.remedies import NEW_CERTIFICATE

BOOTSTRAPPERS: Final = (
    "kubectl create clusterrolebinding bootstrappers --clusterrole=system:node-bootstrapper "
    "--group=system:bootstrappers"
)
"""The right to ask for a node's first certificate."""


def of_status(status: int) -> str:
    """For the HTTP status with which the API server refuses a request for a certificate; '' for nothing in
    particular."""
    return {401: NEW_CERTIFICATE, 403: BOOTSTRAPPERS}.get(status, "")


def approval(request: str) -> str:
    """For a request that nobody has approved yet."""
    return f"kubectl get csr; kubectl certificate approve {request}"
