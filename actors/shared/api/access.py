"""How to reach an API server and as which user: the resolved current context of a kubeconfig."""

from __future__ import annotations

from typing import Any

import msgspec

MINUTE = 60.0


class Exec(msgspec.Struct, frozen=True, kw_only=True):
    """A credential plugin (client.authentication.k8s.io/v1 or v1beta1): a program that prints an ExecCredential."""

    api_version: str
    command: str
    """A name in PATH, or an absolute path."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Added to the agent's own environment."""
    provide_cluster_info: bool = False
    cluster_config: Any = None
    """The cluster's extension `client.authentication.k8s.io/exec`, passed on unchanged."""
    install_hint: str = ""
    """Shown to the user if the command is missing."""
    timeout: float = MINUTE
    """Seconds before it is killed."""


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The user to act as; the server must allow the verb `impersonate`."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class ServerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """A server with a set of credentials. Paths are absolute, data is PEM; empty means not given."""

    server: str
    """`https://host:port`, optionally with a path, without a trailing slash."""
    server_name: str = ""
    """The expected name in its certificate (tls-server-name); empty: the host's."""
    ca: bytes = b""
    """Empty: the system's certificate authorities."""
    ca_file: str = ""
    """The file of `ca`, if it came from a file."""
    insecure: bool = False
    cert_file: str = ""
    key_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    token: str = ""
    token_file: str = ""
    """Takes precedence over `token`; read again each minute."""
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    impersonate: Impersonation | None = None
    proxy: str = ""
    """http://, https:// or socks5://; empty: by the environment."""
    namespace: str = "default"
    source: str = ""
    """The path of the kubeconfig."""
    digest: str = ""
    """The digest of that file and of the files whose content is included; empty: not loaded from files."""

    @property
    def has_credentials(self) -> bool:
        return bool(self.cert_file or self.cert_data or self.token or self.token_file or self.username or self.exec)

    def with_certificate(self, path: str) -> ServerAccess:
        """The same server with another client certificate: a PEM file that includes its key."""
        return msgspec.structs.replace(self, cert_file=path, key_file=path, cert_data=b"", key_data=b"")

    @property
    def files(self) -> tuple[str, ...]:
        """The files it depends on: if one changes, load the kubeconfig again (the token file is not included)."""
        return tuple(dict.fromkeys(path for path in (self.source, self.ca_file, self.cert_file, self.key_file) if path))


def loaded_at_start(data: bytes) -> ServerAccess | None:
    """Decodes `Agent.access`; None: there is none."""
    return msgspec.msgpack.decode(data, type=ServerAccess) if data else None
