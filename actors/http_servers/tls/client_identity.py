"""The identity of a TLS client, by its certificate."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping

from .context import ServerContext
from .openssl import is_verified


class BadClientCertificate(Exception):
    """The client's certificate is invalid or has expired."""


def identity_on(
    connection: ssl.SSLSocket | ssl.SSLObject, now: Callable[[], float] = time.time
) -> tuple[str, tuple[str, ...]] | None:
    """User and groups of the client of a connection; None without a certificate. Raises BadClientCertificate."""
    context = connection.context
    if not isinstance(context, ServerContext) or not connection.getpeercert(binary_form=True):
        return None
    if context.verify_mode is ssl.CERT_NONE or not context.still_trusts():
        raise BadClientCertificate
    if context.verification_is_deferred and not is_verified(connection):
        raise BadClientCertificate
    return identity(connection.getpeercert(), now)


def identity(
    peer: Mapping[str, object] | None, now: Callable[[], float] = time.time
) -> tuple[str, tuple[str, ...]] | None:
    """User (CN) and groups (O) of a client certificate that was valid in the handshake; None without a CN.

    `peer` is as SSLSocket.getpeercert gives it (API doc, X509 client certificates). Raises BadClientCertificate for one
    that has expired since: connections last longer than certificates.
    """
    if not peer:
        return None
    if _has_expired(peer.get("notAfter"), now):
        raise BadClientCertificate
    user, groups = "", []
    for key, value in _attributes(peer.get("subject", ())):
        if key == "commonName":
            user = value
        elif key == "organizationName":
            groups.append(value)
    return (user, tuple(groups)) if user else None


def _attributes(subject: object) -> Iterable[tuple[str, str]]:
    if isinstance(subject, tuple):
        for relative in subject:
            yield from relative


def _has_expired(not_after: object, now: Callable[[], float]) -> bool:
    return isinstance(not_after, str) and ssl.cert_time_to_seconds(not_after) < now()
