"""Certificates on the disk: the client certificate, the serving certificate, the CA of the clients."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from actors.agent.certificate_lifetime import ends_soon
from actors.shared.config.agent import Agent

from .finding import Finding, failure, ok, unknown, warning

NEW_CERTIFICATE: Final = (
    "kubeadm token create --print-join-command; its token into the file of --bootstrap-kubeconfig; restart the agent"
)
"""How a node comes by a client certificate again."""


def certificate(subject: str, path: str, now: datetime, remedy: str) -> Iterator[Finding]:
    """The first certificate in a PEM file."""
    try:
        found = x509.load_pem_x509_certificates(Path(path).read_bytes())[0]
    except FileNotFoundError:
        yield failure(subject, f"{path}: no such file", remedy)
        return
    except OSError as error:
        yield unknown(subject, f"{path}: {error.strerror}")
        return
    except (ValueError, IndexError):
        yield failure(subject, f"{path} holds no certificate in PEM", remedy)
        return
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    text = f"{path}, {found.subject.rfc4514_string() or 'no subject'}, until {end:%Y-%m-%d %H:%M} UTC"
    if now < begin:
        yield failure(subject, f"{path} is valid from {begin:%Y-%m-%d %H:%M} UTC only", "set the clock: timedatectl")
    elif now >= end:
        yield failure(subject, f"{path} expired on {end:%Y-%m-%d %H:%M} UTC", remedy)
    elif ends_soon(begin, end, now):
        yield warning(subject, f"{text}: it ends soon", remedy)
    else:
        yield ok(subject, text)


def checks(agent: Agent, *, running: bool) -> Iterator[Iterator[Finding]]:
    """Those that this configuration has. `running`: what the agent makes at its start must be there."""
    now = datetime.now(UTC)
    if agent.config.authentication.x509.clientCAFile:
        path = agent.config.authentication.x509.clientCAFile
        yield certificate("client CA", path, now, "set authentication.x509.clientCAFile to the cluster's CA")
    if agent.serving_cert_given or Path(agent.serving_cert_file).exists():
        remedy = (
            "renew it" if agent.serving_cert_given else f"remove {agent.serving_cert_file}: the agent makes another"
        )
        yield certificate("serving certificate", agent.serving_cert_file, now, remedy)
    current = f"{agent.cert_dir}/kubelet-client-current.pem"
    if not agent.standalone and Path(current).exists():
        yield certificate("client certificate", current, now, NEW_CERTIFICATE)
    elif not agent.standalone and running and agent.bootstrap_kubeconfig and not Path(agent.kubeconfig).exists():
        text = f"{current}: none yet, the agent has asked the cluster for one"
        yield iter([failure("client certificate", text, "kubectl get csr; kubectl certificate approve NAME")])
