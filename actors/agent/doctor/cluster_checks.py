"""The API server as this node sees it, by the typed client of the `kubernetes` package.

Every request has a deadline and is not repeated.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from actors.agent.client_certificate import ShownCertificate, in_use
from actors.shared.api.disposable_loader import scratch
from actors.shared.api.remedies import AUTHORIZATION, NEW_CERTIFICATE, SERVER_HEALTH, of_connection
from actors.shared.config.version import MAJOR, MINOR
from actors.shared.http_get.trust import as_go
from actors.shared.linux.services import set_clock
from supervision.errors import UNREADABLE, error_reason
from supervision.time_scale import scaled

from . import node_checks, permissions
from .certificate_checks import CLIENT, of_pem
from .finding import Finding, Level, failure, ok, unknown, warning
from .pod_causes import shortened

_CAUSED: Final = re.compile(r"""Caused by \w+\((["'])(.*)\1\)\)$""", re.S)
_CONNECTION: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")
_ABORTED: Final = re.compile(r"^\('Connection aborted\.', \w+\((?:\d+, )?'([^']*)'\)\)$")
_OF_LIBRARIES: Final = re.compile(
    r"\[Errno -?\d+\] |\bSSLError |\[\w+: \w+\] | \(_ssl\.c:\d+\)|\. \(\w+ timeout=[\d.]+\)"
)
"""What the libraries put around the words of an error."""
API: Final = "API server"
HTTPS: Final = "`server` in the kubeconfig must begin with https://"
OLDEST_NODE: Final = 3
"""The number of minor releases that a node may be older than its API server; it must not be newer (version skew
policy)."""
CLOCK_SECONDS: Final = 60.0
_SERVER: Final = re.compile(r"v(\d+)\.(\d+)")
NodeCheck = Callable[[Any, str], Iterator[Finding]]
"""Asks through a client, for the node of this name. Raises ApiException, HTTPError."""


def cluster(
    kubeconfig: str,
    node: str,
    stored: str = "",
    *,
    bootstrap: bool = False,
    gates: Collection[str] = (),
    running: bool = True,
) -> Iterator[Finding]:
    """All checks with this kubeconfig, for the node of this name. `stored`: path of the client certificate that the
    agent obtained. `bootstrap`: the kubeconfig only serves to obtain that certificate. `gates`: feature gates that are
    on, of those that need rights of their own. `running`: an agent runs here."""
    from kubernetes import client
    from kubernetes.config import ConfigException, load_kube_config

    settings = client.Configuration()
    settings.retries = False
    with scratch() as directory:
        try:
            load_kube_config(kubeconfig, client_configuration=settings, persist_config=False, temp_file_path=directory)
        except (ConfigException, OSError) as error:
            yield failure(
                "kubeconfig", f"{kubeconfig}: {error_reason(error)}", "supervise config check --kubeconfig=FILE"
            )
            return
        shown = in_use(kubeconfig, stored, time.time())
        if shown is not None and shown.stored:
            settings.cert_file = settings.key_file = shown.where
        ended = shown is not None and _is_invalid(shown)
        with client.ApiClient(settings) as api:
            api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = _trust(settings)
            for found in _check_server(api, settings.host, node, gates, bootstrap=bootstrap, running=running):
                if not (ended and "401" in found.text):  # the check of the certificate reports the cause
                    yield found


def _trust(settings: Any) -> ssl.SSLContext:
    """A context for the client, whose own context refuses certificates that the agent accepts. The client does not load
    the host's roots into a given context, and does not turn off verification in it, so this function does both."""
    from urllib3.util import create_urllib3_context

    context = as_go(create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if settings.verify_ssl else ssl.CERT_NONE))
    if not (settings.ssl_ca_cert or settings.ca_cert_data):
        context.load_default_certs()
    return context


def _is_invalid(shown: ShownCertificate) -> bool:
    """Whether the client certificate is not valid now."""
    return of_pem(CLIENT, shown.where, shown.pem, datetime.now(UTC), NEW_CERTIFICATE).level is Level.FAILURE


def _check_server(
    api: Any, server: str, node: str, gates: Collection[str], *, bootstrap: bool, running: bool
) -> Iterator[Finding]:
    from kubernetes import client
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    try:
        started_at = time.time()
        found, _, headers = client.VersionApi(api).get_code_with_http_info(_request_timeout=scaled(node_checks.SECONDS))
        ended = time.time()
    except HTTPError as error:
        yield unreachable(server, str(error))
        return
    except ApiException as error:
        yield refused(server, error.status, error.reason, message(error.body))
        return
    yield from version(server, found.git_version)
    yield from clock(headers.get("Date", ""), started_at, ended)

    if bootstrap:
        checks: dict[str, NodeCheck] = {"requesting": permissions.requesting}
    else:
        checks = {
            "identity": node_checks.identity,
            "rights": lambda api, node: permissions.rights(api, node, gates),
            "registration": lambda api, node: node_checks.registration(api, node, running=running),
            "lease": lambda api, node: node_checks.lease(api, node, running=running),
        }
    yield from _ask(api, server, node, checks)


def _ask(api: Any, server: str, node: str, checks: Mapping[str, NodeCheck]) -> Iterator[Finding]:
    """`checks`: by the name that an error shows. A request that fails is a finding, and does not stop the others."""
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    denied = False
    for name, check in checks.items():
        try:
            for one in check(api, node):
                yield one
                denied = denied or (one.subject == permissions.RIGHTS and one.level is Level.FAILURE)
                if one.subject == node_checks.IDENTITY and one.level is Level.FAILURE:
                    return  # the API server refuses the other requests to another user
        except ApiException as error:
            if denied and error.status == 403:
                continue  # the check of the rights reports the cause
            yield refused(f"{server}, {name}", error.status, error.reason, message(error.body))
        except HTTPError as error:
            yield unreachable(server, str(error))


def unreachable(server: str, error: str) -> Finding:
    """The finding for a connection that failed."""
    why = _plain(error)
    spoken = server.startswith("http://") and _ABORTED.search(error)
    return failure(API, f"{server} cannot be reached: {why}", HTTPS if spoken else of_connection(error, server))


def _plain(error: str) -> str:
    """The reason in an error of urllib3, without classes, numbers and the address around it."""
    if caused := _CAUSED.search(error):
        error = caused[2]
    elif "Caused by " in error:
        error = error.rpartition("Caused by ")[2].rstrip(")")
    if aborted := _ABORTED.search(error):
        return f"Connection aborted: {aborted[1]}"
    return _OF_LIBRARIES.sub("", _CONNECTION.sub("", " ".join(error.split())))


def message(body: str | bytes | None) -> str:
    """What an answer says of its error: the message of a Status object, or the beginning of a text. Pure."""
    try:
        found = msgspec.json.decode(body or b"{}", type=dict[str, Any]).get("message")
    except UNREADABLE:
        found = body.decode(errors="replace") if isinstance(body, bytes) else body
    return shortened(found) if isinstance(found, str) and not found.lstrip().startswith("<") else ""


def refused(what: str, status: int | None, reason: str | None, said: str = "") -> Finding:
    """The finding for an error. Errors of the client itself, such as a failed TLS handshake, have no status. `said`:
    the message of the answer."""
    if not status:
        return unreachable(what, reason or "")
    if status == 401:
        text = f"{what}: the node's credentials are refused (401 {reason})"
        return failure(API, text, NEW_CERTIFICATE)
    if status == 403:
        text = f"{what}: the API server does not let this node read it (403 {reason})"
        return failure(API, text, AUTHORIZATION)
    text = f"{what}: {status} {reason}{f': {said}' if said and said != reason else ''}"
    if "HTTP request to an HTTPS server" in said:
        return failure(API, text, HTTPS)
    return failure(API, text, SERVER_HEALTH)


def version(server: str, git_version: str) -> Iterator[Finding]:
    """Whether a node of this release may join."""
    found = _SERVER.match(git_version)
    if found is None:
        yield unknown(API, f"{server} answers, with version {git_version!r}")
        return
    ahead = int(found[2]) - MINOR
    if int(found[1]) == 0:
        yield unknown(API, f"{server} answers, with the version of no release: {git_version}")
    elif int(found[1]) != MAJOR or ahead < 0:
        text = f"{server} is {git_version}, older than this node's {MAJOR}.{MINOR}"
        yield warning(API, text, "upgrade the control plane first: a node may not be newer")
    elif ahead > OLDEST_NODE:
        text = f"{server} is {git_version}, {ahead} minor releases newer than this node"
        yield warning(API, text, f"upgrade this agent: at most {OLDEST_NODE} are supported")
    else:
        yield ok(API, f"{server}, {git_version}")


def clock(date: str, started_at: float, ended: float) -> Iterator[Finding]:
    """`date`: the answer's header, in whole seconds; the answer was made between `started_at` and `ended`."""
    try:
        there = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        yield unknown("clock", "the API server says no time")
        return
    off = max(started_at - there - 1, there - ended, 0.0)
    if off > CLOCK_SECONDS:
        side = "ahead of" if started_at > there else "behind"
        text = f"{off:.0f} s {side} the API server: certificates, tokens and leases are taken for invalid"
        yield failure("clock", text, set_clock())
    else:
        yield ok("clock", "as the API server's" if off < 1 else f"{off:.0f} s off the API server's")
