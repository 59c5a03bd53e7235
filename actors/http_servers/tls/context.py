"""The TLS context of the node server: versions, cipher suites, key exchange, client CAs."""

from __future__ import annotations

import ssl
import warnings
from typing import Final

from actors.cert_manager.messages import ServingCertificate
from actors.shared.config.fields import tls as names
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from . import openssl

_VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_OLD: Final = ("VersionTLS10", "VersionTLS11")
_LOWERED: Final = "@SECLEVEL=0"
"""OpenSSL's default level excludes TLS 1.1 and some insecure suites, which the configuration may name."""


class ServerContext(ssl.SSLContext):
    """The TLS context of new connections, until a newer certificate or client CA replaces it."""

    roots: frozenset[bytes] = frozenset()
    """DER of the client CAs."""
    successor: ServerContext | None = None
    """The context that has replaced it."""
    verification_is_deferred: bool = False
    """An invalid client certificate does not fail the handshake."""

    def replaced_by(self, context: ServerContext) -> None:
        """Use that context for new connections from now on."""
        self.successor = context

    def still_trusts(self) -> bool:
        """Whether all its roots are still client CAs. If not, it may accept certificates of a removed CA."""
        later = self.successor
        while later is not None:
            if not self.roots <= later.roots:
                return False
            later = later.successor
        return True


def server_context(certificate: ServingCertificate, config: KubeletConfiguration) -> ServerContext:
    """A new context, for new connections.

    A client certificate is asked for when there is a client CA, and verified (chain, time, purpose). A caller without a
    valid one needs another credential. If verification cannot be deferred (see openssl.py), an invalid certificate ends
    the handshake. Raises OSError or ssl.SSLError for invalid files, and for settings that leave no version, suite or
    group.
    """
    context = plain_context(config)
    context.load_cert_chain(certificate.cert_file, certificate.key_file, password=_no_password)
    if certificate.client_ca_file:
        context.load_verify_locations(certificate.client_ca_file)
        # as in Go, each certificate of the pool is a root, also one that is not self-signed
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_mode = ssl.CERT_OPTIONAL
        context.roots = frozenset(context.get_ca_certs(binary_form=True))
        context.verification_is_deferred = openssl.defer_verification(context)
    return context


def plain_context(config: KubeletConfiguration) -> ServerContext:
    """A context with the configured settings, without any certificate. Raises ssl.SSLError."""
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    with warnings.catch_warnings():
        # validation of the configuration has warned of old versions
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = _VERSIONS.get(config.tlsMinVersion, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(_ciphers(config))
    if config.tlsCurvePreferences:
        wanted = [names.CURVES[number] for number in config.tlsCurvePreferences if number in names.CURVES]
        openssl.set_groups(context, wanted)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


def _ciphers(config: KubeletConfiguration) -> str:
    """OpenSSL's list of suites up to TLS 1.2; the suites of 1.3 are always on.

    The default is the suites with authenticated encryption, as the CIS benchmark requires (4.2.12). Versions before 1.2
    have none: for these, the suites that Go lists as secure.
    """
    old = config.tlsMinVersion in _OLD
    wanted = [name for name in config.tlsCipherSuites if name not in names.TLS13_SUITES]
    suites = [names.SECURE_SUITES.get(name) or names.INSECURE_SUITES[name] for name in wanted if name in names.SUITES]
    if not suites:
        suites = [suite for name, suite in names.SECURE_SUITES.items() if old or "_CBC_" not in name]
    lowered = old or any(name in names.INSECURE_SUITES for name in wanted)
    return ":".join([*dict.fromkeys(suites), *([_LOWERED] if lowered else [])])


def _no_password() -> str:
    """Raises an error instead of OpenSSL's prompt at the terminal."""
    raise ssl.SSLError("the key of the serving certificate is encrypted")
