"""How the server behaves; all of it may be changed while it runs, at /_test/options."""

from __future__ import annotations

import msgspec


class Options(msgspec.Struct):
    auto_approve: bool = True
    """Client certificates of nodes that ask, as kube-controller-manager does."""
    approve_serving: bool = True
    """Serving certificates too, which in a real cluster somebody else does."""
    sign: bool = True
    certificate_seconds: int = 3600
    scheduler: bool = True
    """Pods go to the one node that is Ready and has no taint in their way."""
    service_accounts: bool = True
    """`default` and `kube-root-ca.crt` in each namespace, and tokens in pods."""
    node_lifecycle: bool = True
    """Taints of nodes follow their conditions; Ready becomes Unknown when a lease is not renewed."""
    lease_grace_seconds: float = 50.0
    bookmark_seconds: float = 60.0
    watch_seconds: float = 1800.0
    """A watch without timeoutSeconds ends after as long."""
    node_restriction: bool = True
    anonymous: bool = True
    history: int = 10_000
    """Events that a watch may start from; older ones are 410."""
