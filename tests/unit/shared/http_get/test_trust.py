"""Which certificates are accepted does not depend on the version of Python."""

from __future__ import annotations

import ssl

import pytest

from actors.shared.http_get.trust import as_go, system_trust


def strict() -> ssl.SSLContext:
    """As Python 3.13 makes them by default."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def test_a_context_verifies_certificates_as_go_does() -> None:
    flags = as_go(strict()).verify_flags
    assert flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not flags & ssl.VERIFY_X509_STRICT


def test_the_roots_of_this_host_are_trusted_and_names_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[ssl.Purpose] = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda _, purpose: loaded.append(purpose))
    context = system_trust()
    assert loaded == [ssl.Purpose.SERVER_AUTH]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
