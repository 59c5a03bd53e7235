"""What a request needs a permission for: the subresources of the node, as the reference maps its paths. Pure.

The fine-grained ones are tried first, then `proxy`, which stands for all (KEP-2862).
"""

from __future__ import annotations

from typing import Final

VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCES: Final = (
    ("/stats", ("stats",)),
    ("/metrics", ("metrics",)),
    ("/logs", ("log",)),
    ("/checkpoint", ("checkpoint",)),
    ("/statusz", ("statusz",)),
    ("/flagz", ("configz",)),
    ("/healthz", ("healthz", "proxy")),
    ("/configz", ("configz", "proxy")),
    ("/pods", ("pods", "proxy")),
    ("/runningpods", ("pods", "proxy")),
)


def verb(method: str) -> str:
    return VERBS.get(method, "")


def subresources(path: str) -> tuple[str, ...]:
    """Any of them is enough. `path` is the one that is routed by, not decoded."""
    for prefix, found in _SUBRESOURCES:
        if path == prefix or path.startswith(f"{prefix}/"):
            return found
    return ("proxy",)
