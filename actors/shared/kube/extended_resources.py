"""Extended resources, which plugins, drivers and cluster operators add to a node. Pure."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\Z", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?\Z", re.ASCII)
_QUOTA: Final = "requests."


def is_extended(resource: str) -> bool:
    """Whether it is the name of an extended resource: one with a domain that is not Kubernetes' own."""
    domain, slash, name = resource.partition("/")
    if not slash or "kubernetes.io/" in resource or resource.startswith(_QUOTA):
        return False
    # its quota, `requests.<resource>`, must be a qualified name too
    return (
        len(_QUOTA + domain) <= 253
        and len(name) <= 63
        and _DOMAIN.match(domain) is not None
        and _NAME.match(name) is not None
    )
