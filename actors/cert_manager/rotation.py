"""When a certificate is due for rotation. Pure.

The wall clock may jump, so no timer runs until then: the owner asks every few seconds with the present time.
"""

from __future__ import annotations

from .certificate import Certificate

EARLIEST, SPREAD = 0.7, 0.2
"""Rotation is due at 70 to 90 % of a certificate's life, as in the reference."""


def due_at(certificate: Certificate) -> float:
    """When to rotate it, seconds since 1970. Random by the certificate's fingerprint, so a restart changes nothing."""
    share = int(certificate.fingerprint[:8] or "0", 16) / 2**32
    return certificate.not_before + certificate.lifetime * (EARLIEST + SPREAD * share)


def is_due(certificate: Certificate, now: float) -> bool:
    return now >= due_at(certificate)


def ended(certificate: Certificate, now: float) -> bool:
    """One that is not valid yet has not ended: this host's clock is wrong then, and the server's counts."""
    return now > certificate.not_after
