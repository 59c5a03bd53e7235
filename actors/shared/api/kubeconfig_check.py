"""Validates a kubeconfig and reports every problem with its field (Kubernetes reference, "kubeconfig (v1)").

The `kubernetes` package, which loads it, stops at the first error and names no field. Settings that a node cannot use
(auth-provider, an interactive plugin) are errors here, not ignored."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from actors.shared.kube.codec import without_nulls
from supervision.documents.model import DocumentError, DocumentLimits, DocumentProblem
from supervision.documents.reader import read as read_document
from supervision.errors import error_reason

from .access import Exec, Impersonation
from .fields import Fields
from .kubeconfig_files import BEGIN_CERTIFICATE, BEGIN_KEY, MAX_BYTES, KubeconfigFiles, read_bounded

_LIMITS: Final = DocumentLimits(size=MAX_BYTES, depth=64, lines=False)
EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")


class KubeconfigError(ValueError):
    """The file is invalid. `problems` lists every problem with its field."""

    def __init__(self, path: str, problems: list[str], *, may_pass: bool = False) -> None:
        """`may_pass`: the file is not the cause; a retry may succeed."""
        self.path, self.problems, self.may_pass = path, problems, may_pass
        super().__init__("; ".join(f"{path}: {problem}" for problem in problems))


class CheckedKubeconfig(msgspec.Struct, frozen=True):
    """A valid kubeconfig, and the settings that the package's loader does not support."""

    path: str
    document: dict[str, Any]
    """The document for the loader, with a scheme for the server and a password for a user name."""
    digest: str
    """The digest of the file and of the files that it includes: the same digest means the same result."""
    token_file: str = ""
    exec: Exec | None = None
    impersonate: Impersonation | None = None


def check_file(path: str) -> CheckedKubeconfig:
    """Check the file, which takes milliseconds. Raises KubeconfigError with every problem."""
    path = os.path.abspath(path)
    return check(_read(path, path), path)


def check(data: bytes, path: str) -> CheckedKubeconfig:
    """Like check_file, for these bytes; reads the files they name, relative to `path`. Raises KubeconfigError."""
    problems: list[str] = []
    plain = _document(data, path)
    document = Fields(plain, "", problems)
    for name, wanted in (("apiVersion", "v1"), ("kind", "Config")):
        if document.has(name) and document.text(name) != wanted:
            document.problem(name, f"must be {wanted}, is {document.text(name)[:60]!r}")
    checked = _Checker(document, path).checked(hashlib.sha256(data))
    if problems:
        raise KubeconfigError(path, problems)
    return checked


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
    """Read a bounded file. Raises KubeconfigError for `path`."""
    try:
        return read_bounded(name)
    except OSError as error:
        raise KubeconfigError(path, [error_reason(error)]) from None


class _Checker:
    """Checks the entries that the current context names."""

    def __init__(self, document: Fields, path: str) -> None:
        self._document, self._path = document, path
        self._files = KubeconfigFiles(path)

    def checked(self, digest: hashlib._Hash) -> CheckedKubeconfig:
        """`digest`: of the file's own bytes."""
        document = self._document
        current = document.text("current-context")
        if not current:
            document.problem("current-context", "required")
        context = self._entry_named("contexts", "context", current, "current-context")
        cluster = self._entry_named("clusters", "cluster", context.text("cluster"), f"{context.path}.cluster")
        if current and not context.has("cluster") and context.data:
            context.problem("cluster", "required")
        user = self._entry_named("users", "user", context.text("user"), f"{context.path}.user")
        context.text("namespace")
        server = self._check_cluster(cluster)
        self._check_user(user)
        with_password = {"password": user.text("password")} if user.has("username") else {}
        used = {  # without nulls, which are values to the package's loader, and none to client-go
            "clusters": [{"name": context.text("cluster"), "cluster": {**cluster.data, "server": server}}],
            "users": [{"name": context.text("user"), "user": {**user.data, **with_password}}],
        }
        for content in self._files.included():
            digest.update(content)
        return CheckedKubeconfig(
            path=self._path,
            document=without_nulls({**document.data, **used}),
            digest=digest.hexdigest(),
            token_file=self._files.absolute(user.text("tokenFile")) if user.has("tokenFile") else "",
            exec=self._exec(user.section("exec"), cluster) if user.has("exec") else None,
            impersonate=_impersonation(user),
        )

    def _entry_named(self, section: str, key: str, name: str, wanted_by: str) -> Fields:
        """The entry of that name; names must be unique."""
        found = [entry for entry in self._document.sections(section) if entry.text("name") == name] if name else []
        if name and not found:
            self._document.problem(wanted_by, f"there is no {name[:100]!r} in {section}")
        for extra in found[1:]:
            extra.problem("name", f"duplicate: {name[:100]!r}")
        return found[0].section(key) if found else Fields({}, "", [])

    def _check_cluster(self, cluster: Fields) -> str:
        """The server's URL."""
        has_ca = self._files.check_pem(cluster, "certificate-authority", BEGIN_CERTIFICATE)
        if cluster.flag("insecure-skip-tls-verify") and has_ca:
            cluster.problem("insecure-skip-tls-verify", "cannot be given together with certificate-authority")
        cluster.text("tls-server-name")
        _check_proxy(cluster)
        return _server(cluster)

    def _check_user(self, user: Fields) -> None:
        if user.has("auth-provider"):
            user.problem("auth-provider", "not supported: Kubernetes removed it in 1.26; use an exec plugin")
        for name in ("token", "tokenFile", "username", "password"):
            user.text(name)
        ways = [name for name in ("token", "username") if user.has(name)]
        if not user.has("token") and user.has("tokenFile"):
            ways.append("tokenFile")
        if len(ways) > 1:
            user.problem(ways[1], f"cannot be given together with {ways[0]}")
        if user.has("exec") and ways:
            user.problem("exec", f"cannot be given together with {ways[0]}")
        has_certificate = self._files.check_pem(user, "client-certificate", BEGIN_CERTIFICATE)
        has_key = self._files.check_pem(user, "client-key", BEGIN_KEY)
        if has_certificate and not has_key:
            user.problem("client-key", "required with client-certificate")
        if has_key and not has_certificate:
            user.problem("client-certificate", "required with client-key")
        self._files.check_pair(user)

    def _exec(self, plugin: Fields, cluster: Fields) -> Exec:
        if plugin.text("apiVersion") not in EXEC_VERSIONS:
            plugin.problem("apiVersion", f"must be one of {', '.join(EXEC_VERSIONS)}")
        if not plugin.text("command"):
            plugin.problem("command", "required")
        mode = plugin.text("interactiveMode")
        if mode == "Always":
            plugin.problem("interactiveMode", "Always is not possible: a node agent has no terminal")
        elif mode not in ("Never", "IfAvailable") and (mode or plugin.text("apiVersion") == EXEC_VERSIONS[0]):
            plugin.problem("interactiveMode", "must be one of Never, IfAvailable")
        variables = plugin.sections("env")
        for variable in variables:
            if not variable.text("name"):
                variable.problem("name", "required")
        return Exec(
            api_version=plugin.text("apiVersion"),
            command=self._files.command(plugin.text("command")),
            args=plugin.texts("args"),
            env=tuple((variable.text("name"), variable.text("value")) for variable in variables),
            provide_cluster_info=plugin.flag("provideClusterInfo"),
            cluster_config=_extension(cluster, EXEC_EXTENSION),
            install_hint=plugin.text("installHint"),
        )


def _server(cluster: Fields) -> str:
    server = cluster.text("server")
    if not server:
        if cluster.path:
            cluster.problem("server", "required")
        return ""
    if "://" not in server:
        # without a scheme https is meant, never plain text
        server = f"https://{server}"
    if not _url_is_good(server, ("http", "https")):
        cluster.problem("server", f"{server[:100]!r} is not a URL like https://host:6443")
    return server.rstrip("/")


def _check_proxy(cluster: Fields) -> None:
    proxy = cluster.text("proxy-url")
    if proxy and not _url_is_good(proxy, PROXY_SCHEMES):
        cluster.problem("proxy-url", f"must be a URL with one of {', '.join(PROXY_SCHEMES)}, as http://host:3128")


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
