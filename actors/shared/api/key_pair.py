"""Loads a client certificate and its key into a TLS context, and says in words why they cannot be used."""

from __future__ import annotations

import os
import ssl
from typing import Final

_OPENSSL: Final = {
    "KEY_VALUES_MISMATCH": "its key is that of another certificate",
    "NO_START_LINE": "it has no certificate, or no key, in PEM",
}
"""OpenSSL's reasons, in words."""


def load_files(tls_context: ssl.SSLContext, cert_file: str, key_file: str) -> None:
    """Raises OSError, ValueError."""
    tls_context.load_cert_chain(cert_file, key_file, password=_no_password)


def load_data(tls_context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Both in PEM. Raises OSError, ValueError."""
    # OpenSSL reads only files: use one in memory, so that the key is never on disk
    descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, certificate.rstrip() + b"\n" + key)
        load_files(tls_context, f"/proc/self/fd/{descriptor}", f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def problem(certificate: bytes, key: bytes) -> str:
    """Why they cannot be used together, both in PEM; '' if they can."""
    try:
        load_data(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key)
    except (OSError, ValueError) as error:
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    """An error of `load_files` or `load_data` in words."""
    if isinstance(error, ssl.SSLError):
        # OpenSSL gives no reason for a block that is no certificate or no key
        found = error.reason or "NO_START_LINE"
        return _OPENSSL.get(found, found.lower().replace("_", " "))
    return getattr(error, "strerror", None) or str(error)


def _no_password() -> str:
    """Refuse an encrypted key: OpenSSL would ask for the password at the terminal."""
    raise ValueError("the key is encrypted")
