"""The TLS context of connections to an API server."""

from __future__ import annotations

import ssl

from . import key_pair
from .access import ServerAccess
from .credentials import ClientKeyPair
from .errors import NoCredentials


def context(access: ServerAccess, certificate: ClientKeyPair) -> ssl.SSLContext:
    """TLS 1.2 or newer. Every certificate of `ca` is a trusted root, self-signed or not (as in Go). Raises
    NoCredentials."""
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls_context.minimum_version = ssl.TLSVersion.TLSv1_2
    if access.insecure:
        tls_context.check_hostname, tls_context.verify_mode = False, ssl.CERT_NONE
    elif access.ca:
        tls_context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            tls_context.load_verify_locations(cadata=access.ca.decode("ascii", "ignore"))
        except (ssl.SSLError, ValueError) as error:
            raise _unusable("certificate-authority", access.ca_file, error) from None
    else:
        tls_context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    _load_certificate(tls_context, certificate)
    return tls_context


def _load_certificate(tls_context: ssl.SSLContext, certificate: ClientKeyPair) -> None:
    try:
        if certificate.cert_file:
            key_pair.load_files(tls_context, certificate.cert_file, certificate.key_file)
        elif certificate.cert_data:
            key_pair.load_data(tls_context, certificate.cert_data, certificate.key_data)
    except (OSError, ValueError) as error:
        raise _unusable("client-certificate", certificate.cert_file, error) from None


def _unusable(field: str, path: str, error: Exception) -> NoCredentials:
    text = f"{field}{' ' + path if path else ''} cannot be used: {key_pair.reason(error)}"
    return NoCredentials(0, "NoCredentials", text)
