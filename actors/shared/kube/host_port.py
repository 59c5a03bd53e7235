"""A host and a port as one word."""

from __future__ import annotations


def joined(host: str, port: int) -> str:
    """Host and port as in a URL: an IPv6 address in brackets (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
