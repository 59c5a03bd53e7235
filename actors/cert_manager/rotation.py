"""When a certificate is due for rotation. Pure.

The wall clock may jump, so there is no timer for it: the owner checks every few seconds with the current time.
"""

from __future__ import annotations

from .certificate import Certificate

EARLIEST, SPREAD = 0.7, 0.2
"""Rotation is due at 70 to 90 % of a certificate's life, as in the kubelet."""


def due_at(certificate: Certificate) -> float:
    """When to rotate it, in seconds since 1970. The fingerprint is the random seed, so a restart does not change it."""
    share = int(certificate.fingerprint[:8] or "0", 16) / 2**32
    return certificate.not_before + certificate.lifetime * (EARLIEST + SPREAD * share)


def is_due(certificate: Certificate, now: float) -> bool:
    return now >= due_at(certificate)


def ended(certificate: Certificate, now: float) -> bool:
    """Whether it has expired. One that is not valid yet has not: then this host's clock is wrong."""
    return now > certificate.not_after
