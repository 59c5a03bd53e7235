"""Reading and writing kubeconfig files (Kubernetes reference, "kubeconfig (v1)").

One file, as `--kubeconfig` names it; paths in it are relative to it. Everything that is wrong is said at once, each
with its field; what a node cannot use (auth-provider, an interactive plugin) is refused, not left out.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any, Final
from urllib.parse import urlsplit

from supervision.documents.model import DocumentError, DocumentProblem, Limits
from supervision.documents.reading import read as read_document

from .access import Access, Exec, Impersonation
from .fields import Fields

MAX_BYTES: Final = 4 << 20
_LIMITS: Final = Limits(size=MAX_BYTES, depth=64, lines=False)
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")
BEGIN_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
BEGIN_KEY: Final = b"PRIVATE KEY-----"


class KubeconfigError(ValueError):
    """The file cannot be used. `problems` has every reason, each with its field."""

    def __init__(self, path: str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        super().__init__("; ".join(f"{path}: {problem}" for problem in problems))


def load(path: str) -> Access:
    """What the file's current context comes to. Raises KubeconfigError."""
    path = os.path.abspath(path)
    return parse(_read(path, path), path)


def parse(data: bytes, path: str) -> Access:
    """As load, of these bytes; files that they name are relative to `path`, and read. Raises KubeconfigError."""
    problems: list[str] = []
    document = Fields(_document(data, path), "", problems)
    for name, wanted in (("apiVersion", "v1"), ("kind", "Config")):
        if document.has(name) and document.text(name) != wanted:
            document.problem(name, f"must be {wanted}, is {document.text(name)[:60]!r}")
    access = _Reader(document, path).access()
    if problems:
        raise KubeconfigError(path, problems)
    return access


def _document(data: bytes, path: str) -> Any:
    try:
        return read_document(data, _LIMITS)[0] or {}
    except DocumentError as error:
        # the document has secrets, and a parser's text may quote it
        raise KubeconfigError(path, [_without_text(problem) for problem in error.problems]) from None


def _without_text(problem: DocumentProblem) -> str:
    where = f" (line {problem.line})" if problem.line else ""
    return f"{problem.rule.partition(':')[0]}{where}"


def _read(name: str, path: str) -> bytes:
    """A file, bounded. Raises KubeconfigError of `path`."""
    try:
        return read_bounded(name)
    except OSError as error:
        raise KubeconfigError(path, [error.strerror or str(error)]) from None


def read_bounded(path: str) -> bytes:
    """Raises OSError, also when it is no regular file or more than MAX_BYTES."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not os.path.isfile(f"/proc/self/fd/{file.fileno()}"):
            raise OSError(0, "not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(0, f"more than {MAX_BYTES >> 20} MiB")
    return data


class _Reader:
    """The entries that the current context names, read."""

    def __init__(self, document: Fields, path: str) -> None:
        self._document, self._path = document, path

    def access(self) -> Access:
        document = self._document
        current = document.text("current-context")
        if not current:
            document.problem("current-context", "required")
        context = self._named("contexts", "context", current, "current-context")
        cluster = self._named("clusters", "cluster", context.text("cluster"), f"{context.path}.cluster")
        if current and not context.has("cluster") and context.data:
            context.problem("cluster", "required")
        user = self._named("users", "user", context.text("user"), f"{context.path}.user")
        return Access(
            **self._cluster(cluster),
            **self._user(user, cluster),
            namespace=context.text("namespace") or "default",
            source=self._path,
        )

    def _named(self, section: str, key: str, name: str, wanted_by: str) -> Fields:
        """The entry of that name; names are to be unique."""
        found = [entry for entry in self._document.sections(section) if entry.text("name") == name] if name else []
        if name and not found:
            self._document.problem(wanted_by, f"there is no {name[:100]!r} in {section}")
        for extra in found[1:]:
            extra.problem("name", f"duplicate: {name[:100]!r}")
        return found[0].section(key) if found else Fields({}, "", [])

    # -- cluster --------------------------------------------------------------------------------------------------
    def _cluster(self, cluster: Fields) -> dict[str, Any]:
        ca, ca_file = self._pem(cluster, "certificate-authority", BEGIN_CERTIFICATE)
        insecure = cluster.flag("insecure-skip-tls-verify")
        if insecure and (ca or ca_file):
            cluster.problem("insecure-skip-tls-verify", "cannot be given together with certificate-authority")
        return {
            "server": _server(cluster),
            "server_name": cluster.text("tls-server-name"),
            "ca": ca or self._content(cluster, "certificate-authority", ca_file, BEGIN_CERTIFICATE),
            "ca_file": ca_file,
            "insecure": insecure,
            "proxy": _proxy(cluster),
        }

    # -- user -----------------------------------------------------------------------------------------------------
    def _user(self, user: Fields, cluster: Fields) -> dict[str, Any]:
        if user.has("auth-provider"):
            user.problem("auth-provider", "not supported: the reference removed it in 1.26; use an exec plugin")
        ways = [name for name in ("token", "username") if user.has(name)]
        if not user.has("token") and user.has("tokenFile"):
            ways.append("tokenFile")
        if len(ways) > 1:
            user.problem(ways[1], f"cannot be given together with {ways[0]}")
        if user.has("exec") and ways:
            user.problem("exec", f"cannot be given together with {ways[0]}")
        return {
            **self._certificate(user),
            "token": user.text("token"),
            "token_file": self._place(user, "tokenFile"),
            "username": user.text("username"),
            "password": user.text("password"),
            "exec": self._exec(user.section("exec"), cluster) if user.has("exec") else None,
            "impersonate": _impersonation(user),
        }

    def _certificate(self, user: Fields) -> dict[str, Any]:
        cert, cert_file = self._pem(user, "client-certificate", BEGIN_CERTIFICATE)
        key, key_file = self._pem(user, "client-key", BEGIN_KEY)
        if (cert or cert_file) and not (key or key_file):
            user.problem("client-key", "required with client-certificate")
        if (key or key_file) and not (cert or cert_file):
            user.problem("client-certificate", "required with client-key")
        # one of them in a file and one in data: both as data
        content = self._content(user, "client-certificate", cert_file, BEGIN_CERTIFICATE)
        key_content = self._content(user, "client-key", key_file, BEGIN_KEY)
        if bool(cert) != bool(key) and (cert or cert_file) and (key or key_file):
            return {"cert_data": cert or content, "key_data": key or key_content}
        return {"cert_data": cert, "key_data": key, "cert_file": cert_file, "key_file": key_file}

    def _exec(self, plugin: Fields, cluster: Fields) -> Exec:
        if plugin.text("apiVersion") not in EXEC_VERSIONS:
            plugin.problem("apiVersion", f"must be one of {', '.join(EXEC_VERSIONS)}")
        if not plugin.text("command"):
            plugin.problem("command", "required")
        mode = plugin.text("interactiveMode")
        if mode == "Always":
            plugin.problem("interactiveMode", "Always cannot be: a node agent has no terminal")
        elif mode not in ("Never", "IfAvailable") and (mode or plugin.text("apiVersion") == EXEC_VERSIONS[0]):
            plugin.problem("interactiveMode", "must be one of Never, IfAvailable")
        variables = plugin.sections("env")
        for variable in variables:
            if not variable.text("name"):
                variable.problem("name", "required")
        return Exec(
            api_version=plugin.text("apiVersion"),
            command=self._command(plugin.text("command")),
            args=plugin.texts("args"),
            env=tuple((variable.text("name"), variable.text("value")) for variable in variables),
            provide_cluster_info=plugin.flag("provideClusterInfo"),
            cluster_config=_extension(cluster, EXEC_EXTENSION),
            install_hint=plugin.text("installHint"),
        )

    # -- files ----------------------------------------------------------------------------------------------------
    def _command(self, command: str) -> str:
        return self._absolute(command) if "/" in command else command

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(os.path.dirname(self._path), name))

    def _place(self, fields: Fields, name: str) -> str:
        return self._absolute(fields.text(name)) if fields.has(name) else ""

    def _pem(self, fields: Fields, name: str, mark: bytes) -> tuple[bytes, str]:
        """The data, or the path of the file, of a pair of fields `name` and `name-data`; data wins."""
        if not fields.has(f"{name}-data"):
            return b"", self._place(fields, name)
        try:
            data = base64.b64decode("".join(fields.text(f"{name}-data").split()), validate=True)
        except (binascii.Error, ValueError):
            fields.problem(f"{name}-data", "not base64")
            return b"", ""
        if mark not in data:
            fields.problem(f"{name}-data", "no PEM: it has no " + mark.decode().strip("-").removeprefix("BEGIN "))
        return data, ""

    def _content(self, fields: Fields, name: str, path: str, mark: bytes) -> bytes:
        if not path:
            return b""
        try:
            data = read_bounded(path)
        except OSError as error:
            fields.problem(name, f"{path}: {error.strerror or error}")
            return b""
        if mark not in data:
            fields.problem(name, f"{path}: no PEM: it has no " + mark.decode().strip("-").removeprefix("BEGIN "))
        return data


def _server(cluster: Fields) -> str:
    server = cluster.text("server")
    if not server:
        if cluster.path:
            cluster.problem("server", "required")
        return ""
    if "://" not in server:
        # a node never means plain text by leaving the scheme out
        server = f"https://{server}"
    if not _url_is_good(server, ("http", "https")):
        cluster.problem("server", f"{server[:100]!r} is not a URL like https://host:6443")
    return server.rstrip("/")


def _proxy(cluster: Fields) -> str:
    proxy = cluster.text("proxy-url")
    if proxy and not _url_is_good(proxy, PROXY_SCHEMES):
        cluster.problem("proxy-url", f"must be a URL with one of {', '.join(PROXY_SCHEMES)}, as http://host:3128")
    return proxy


def _url_is_good(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in schemes
        and bool(parts.hostname)
        and port != 0
        and text.isascii()
        and not any(character.isspace() for character in text)
    )


def _impersonation(user: Fields) -> Impersonation | None:
    extra = user.section("as-user-extra")
    found = Impersonation(
        user=user.text("as"),
        uid=user.text("as-uid"),
        groups=user.texts("as-groups"),
        extra=tuple((name, extra.texts(name)) for name in extra.data if isinstance(name, str)),
    )
    if not found.user and (found.uid or found.groups or found.extra):
        user.problem("as", "required with as-uid, as-groups and as-user-extra")
    return found if found.user else None


def _extension(cluster: Fields, name: str) -> Any:
    for entry in cluster.sections("extensions"):
        if entry.text("name") == name:
            return entry.data.get("extension")
    return None


def render(access: Access, cert_file: str, key_file: str) -> str:
    """The kubeconfig that goes on with `access`'s server and these client certificate files, laid out as the reference
    writes it: people edit it by line."""
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
