"""Loads and writes kubeconfig files.

One file, as `--kubeconfig` names it; paths in it are relative to it. It is checked first (`kubeconfig_check`), then the
`kubernetes` package's loader reads it in a process of its own (`disposable_loader`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from supervision.errors import error_reason

from . import disposable_loader
from .access import ServerAccess
from .disposable_loader import LoaderError
from .kubeconfig_check import CheckedKubeconfig, KubeconfigError, check, check_file
from .kubeconfig_files import MAX_BYTES, read_bounded

__all__ = [
    "KubeconfigError",
    "KubeconfigLoad",
    "access",
    "check",
    "check_file",
    "load",
    "load_later",
    "read_bounded",
    "render",
]
LOAD_SECONDS: Final = 30.0
"""The deadline of the loader's process, which normally takes half a second."""
_AS_FOUND: Final = ("server", "server_name", "insecure", "proxy", "token", "username", "password", "namespace")


class KubeconfigLoad:
    """A load under way: the file is checked, and the loader's process starts. `access` or `end` ends it."""

    def __init__(self, path: str) -> None:
        """Raises KubeconfigError."""
        self._checked = check_file(path)
        try:
            self._loader = disposable_loader.LoaderProcess()
        except OSError as error:
            raise _not_loaded(self._checked.path, error) from None
        self.end = self._loader.end

    def access(self, seconds: float = LOAD_SECONDS) -> ServerAccess:
        """Resolve the file's current context; blocks until the loader is done. Raises KubeconfigError."""
        try:
            with disposable_loader.scratch() as scratch:
                return access(self._checked, self._loader.answer(_request(self._checked, scratch), seconds))
        except (LoaderError, OSError) as error:
            raise _not_loaded(self._checked.path, error) from None


def load(path: str, seconds: float = LOAD_SECONDS) -> ServerAccess:
    """Resolve the file's current context; blocks until the loader is done. Raises KubeconfigError."""
    return KubeconfigLoad(path).access(seconds)


async def load_later(path: str, known: ServerAccess | None = None, seconds: float = LOAD_SECONDS) -> ServerAccess:
    """`load` as a coroutine. Returns at once if the files are unchanged since `known` was loaded. Raises
    KubeconfigError."""
    checked = check_file(path)
    if known is not None and known.digest == checked.digest:
        return known
    try:
        with disposable_loader.scratch() as scratch:
            return access(checked, await disposable_loader.answer_later(_request(checked, scratch), seconds))
    except (LoaderError, OSError) as error:
        raise _not_loaded(checked.path, error) from None


def _request(checked: CheckedKubeconfig, scratch: str) -> dict[str, Any]:
    return {"do": "load", "document": checked.document, "path": checked.path, "scratch": scratch}


def _not_loaded(path: str, error: LoaderError | OSError) -> KubeconfigError:
    text = error.text if isinstance(error, LoaderError) else error_reason(error)
    may_pass = isinstance(error, OSError) or error.kind in ("Timeout", "Died")
    return KubeconfigError(path, [f"the loader of the kubernetes package: {text}"], may_pass=may_pass)


def access(checked: CheckedKubeconfig, found: Mapping[str, Any]) -> ServerAccess:
    """Combine the loader's result with the fields that it does not support. Raises OSError if a key was removed
    meanwhile."""
    pem = {name: base64.b64decode(found[name]) for name in ("ca", "cert", "key")}
    files = {name: str(found[f"{name}_file"]) for name in ("ca", "cert", "key")}
    if bool(pem["cert"]) != bool(pem["key"]):
        # one in a file and one as data: use both as data
        for name in ("cert", "key"):
            pem[name] = pem[name] or (read_bounded(files[name]) if files[name] else b"")
            files[name] = ""
    return ServerAccess(
        **{name: found[name] for name in _AS_FOUND},
        ca=pem["ca"],
        ca_file=files["ca"],
        cert_data=pem["cert"],
        cert_file=files["cert"],
        key_data=pem["key"],
        key_file=files["key"],
        token_file=checked.token_file,
        exec=checked.exec,
        impersonate=checked.impersonate,
        source=checked.path,
        digest=checked.digest,
    )


def render(access: ServerAccess, cert_file: str, key_file: str) -> str:
    """A kubeconfig for `access`'s server with these client certificate files, laid out like the kubelet's, because
    people edit it."""
    import yaml

    cluster: dict[str, Any] = {"server": access.server}
    if access.ca_file:
        cluster["certificate-authority"] = access.ca_file
    elif access.ca:
        cluster["certificate-authority-data"] = base64.b64encode(access.ca).decode()
    others = {
        "tls-server-name": access.server_name,
        "insecure-skip-tls-verify": access.insecure,
        "proxy-url": access.proxy,
    }
    cluster |= {name: value for name, value in others.items() if value}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default-cluster", "cluster": cluster}],
        "users": [{"name": "default-auth", "user": {"client-certificate": cert_file, "client-key": key_file}}],
        "contexts": [
            {
                "name": "default-context",
                "context": {"cluster": "default-cluster", "user": "default-auth", "namespace": access.namespace},
            }
        ],
        "current-context": "default-context",
    }
    return str(yaml.safe_dump(document, width=MAX_BYTES))
