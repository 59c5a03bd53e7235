"""Kubeconfig files for whoever is to talk to the server."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec

from .objects import Obj


def write(path: Path, server: str, ca: bytes, user: Obj) -> Path:
    """`user` as in a kubeconfig: client-certificate, client-key, token, exec..."""
    authority = base64.b64encode(ca).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user", "namespace": "default"}}],
        "current-context": "test",
    }
    path.write_bytes(msgspec.json.encode(document))
    path.chmod(0o600)
    return path


def certificate_user(certificate: tuple[Path, Path]) -> Obj:
    return {"client-certificate": str(certificate[0]), "client-key": str(certificate[1])}


def embedded_user(certificate: tuple[Path, Path]) -> Obj:
    """With the certificate and the key in the file itself."""
    cert, key = (base64.b64encode(path.read_bytes()).decode() for path in certificate)
    return {"client-certificate-data": cert, "client-key-data": key}
