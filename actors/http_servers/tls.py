"""The TLS side of the node server: versions, suites, and who may show a certificate."""

from __future__ import annotations

import ssl

from actors.cert_manager.messages import ServingCertificate
from actors.config import tls as names
from actors.config.kubelet_configuration import KubeletConfiguration

_VERSIONS = {"": ssl.TLSVersion.TLSv1_2, "VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


def server_context(certificate: ServingCertificate, config: KubeletConfiguration) -> ssl.SSLContext:
    """A fresh context: callers that have it keep it, new connections take the new one.

    A client certificate is asked for when there is a CA to judge it by, and checked in the handshake (chain, validity,
    purpose); a caller without one gets in and is told 401. Raises OSError or ssl.SSLError for files that do not fit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS.get(config.tlsMinVersion, ssl.TLSVersion.TLSv1_2)
    suites = [names.SECURE_SUITES.get(name) or names.INSECURE_SUITES.get(name) for name in config.tlsCipherSuites]
    chosen = [suite for suite in suites if suite]
    context.set_ciphers(":".join(chosen or names.SECURE_SUITES.values()))
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate.cert_file, certificate.key_file)
    if certificate.client_ca_file:
        context.load_verify_locations(certificate.client_ca_file)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def identity(peer: dict[str, object] | None) -> tuple[str, tuple[str, ...]] | None:
    """User (CN) and groups (O) of a client certificate that the handshake accepted; None when there was none.

    `peer` is as SSLSocket.getpeercert gives it (API doc, X509 client certificates).
    """
    user, groups = "", []
    subject = (peer or {}).get("subject", ())
    if not isinstance(subject, tuple):
        return None
    for relative in subject:
        for key, value in relative:
            if key == "commonName":
                user = value
            elif key == "organizationName":
                groups.append(value)
    return (user, tuple(groups)) if user else None
