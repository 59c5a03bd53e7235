"""The TLS context of connections to an API server."""

from __future__ import annotations

import os
import ssl
from typing import Final

from .access import ServerAccess
from .credentials import ClientKeyPair
from .errors import NoCredentials

_OPENSSL: Final = {
    "KEY_VALUES_MISMATCH": "its key is that of another certificate",
    "NO_START_LINE": "it has no certificate, or no key, in PEM",
}
"""OpenSSL's reasons, in words."""


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
            tls_context.load_cert_chain(certificate.cert_file, certificate.key_file, password=_no_password)
        elif certificate.cert_data:
            # OpenSSL reads only files: use one in memory, so that the key is never on disk
            descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
            try:
                os.write(descriptor, certificate.cert_data.rstrip() + b"\n" + certificate.key_data)
                tls_context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
            finally:
                os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unusable("client-certificate", certificate.cert_file, error) from None


def _no_password() -> str:
    """Refuse an encrypted key: OpenSSL would ask for the password at the terminal."""
    raise ValueError("the key is encrypted")


def _unusable(field: str, path: str, error: Exception) -> NoCredentials:
    if isinstance(error, ssl.SSLError) and error.reason:
        text = _OPENSSL.get(error.reason, error.reason.lower().replace("_", " "))
    else:
        text = getattr(error, "strerror", None) or str(error)
    return NoCredentials(0, "NoCredentials", f"{field}{' ' + path if path else ''} cannot be used: {text}")
