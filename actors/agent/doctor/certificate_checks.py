"""Certificates on the disk: the client certificate, the serving certificate, the CA of the clients."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from actors.agent.certificate_lifetime import ends_soon
from actors.agent.client_certificate import in_use
from actors.agent.remedies import of_serving
from actors.cert_manager.remedies import approval
from actors.shared.api.remedies import NEW_CERTIFICATE
from actors.shared.config.agent import Agent
from actors.shared.linux.services import set_clock
from supervision.protocol import Trouble

from .finding import Finding, failure, ok, unknown, warning

CLIENT: Final = "client certificate"


def certificate(subject: str, path: str, now: datetime, remedy: str) -> Iterator[Finding]:
    """The first certificate in a PEM file."""
    try:
        pem = Path(path).read_bytes()
    except PermissionError as error:
        yield unknown(subject, f"{path}: {error.strerror}")
    except OSError as error:
        yield failure(subject, f"{path}: {error.strerror}", remedy)
    else:
        yield of_pem(subject, path, pem, now, remedy)


def of_pem(subject: str, where: str, pem: bytes, now: datetime, remedy: str) -> Finding:
    """The first certificate in a PEM file. `where`: its path, or the file that contains it."""
    try:
        found = x509.load_pem_x509_certificates(pem)[0]
    except (ValueError, IndexError):
        return failure(subject, f"{where} holds no certificate in PEM", remedy)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    text = f"{where}, {found.subject.rfc4514_string() or 'no subject'}, until {end:%Y-%m-%d %H:%M} UTC"
    if now < begin:
        early = f"{where} is valid from {begin:%Y-%m-%d %H:%M} UTC only"
        return failure(subject, early, f"set the clock: {set_clock()}")
    if now >= end:
        return failure(subject, f"{where} expired on {end:%Y-%m-%d %H:%M} UTC", remedy)
    if ends_soon(begin, end, now):
        return warning(subject, f"{text}: it ends soon", remedy)
    return ok(subject, text)


def checks(agent: Agent, *, running: bool, trouble: Trouble | None = None) -> Iterator[Iterator[Finding]]:
    """The checks of this configuration. `running`: files that the agent creates at its start must exist. `trouble`:
    what the agent says of its requests for a client certificate."""
    now = datetime.now(UTC)
    if agent.config.authentication.x509.clientCAFile:
        path = agent.config.authentication.x509.clientCAFile
        yield certificate("client CA", path, now, "set authentication.x509.clientCAFile to the cluster's CA")
    if agent.serving_cert_given or Path(agent.serving_cert_file).exists():
        remedy = of_serving(agent.serving_cert_file, given=agent.serving_cert_given)
        yield certificate("serving certificate", agent.serving_cert_file, now, remedy)
    if not agent.standalone:
        yield _client_certificate(agent, now, running=running, trouble=trouble)


def _client_certificate(agent: Agent, now: datetime, *, running: bool, trouble: Trouble | None) -> Iterator[Finding]:
    stored = stored_client_pair(agent)
    found = in_use(agent.kubeconfig, stored, now.timestamp())
    if found is not None:
        yield of_pem(CLIENT, found.where, found.pem, now, NEW_CERTIFICATE)
        if trouble is not None:
            yield warning(CLIENT, f"no other takes its place: {trouble.text}", of_request(trouble))
    elif running and agent.bootstrap_kubeconfig and not Path(agent.kubeconfig).exists():
        said = f": {trouble.text}" if trouble is not None else ", the agent asks the cluster for one"
        yield failure(CLIENT, f"{stored}: none yet{said}", of_request(trouble))


def of_request(trouble: Trouble | None) -> str:
    """What mends a request for a certificate. `trouble`: what the agent says of it, if anything. Pure."""
    if trouble is None:
        return approval("NAME")
    return trouble.remedy or "supervise logs cert_manager"


def stored_client_pair(agent: Agent) -> str:
    """The path of the client certificate, with its key, that the agent obtained."""
    return f"{agent.cert_dir}/kubelet-client-current.pem"
