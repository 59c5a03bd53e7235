"""The certificates that this host trusts, by Go's rules."""

from __future__ import annotations

import ssl


def system_trust() -> ssl.SSLContext:
    """The TLS context of a client that trusts the roots of this host. Unlike ssl.create_default_context() of Python
    3.13 it accepts certificates that no Go program refuses, such as those without an authority key identifier."""
    context = as_go(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def as_go(context: ssl.SSLContext) -> ssl.SSLContext:
    """Sets Go's rules in the context: each trusted certificate is a root, self-signed or not, and RFC 5280 is not
    applied strictly."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
