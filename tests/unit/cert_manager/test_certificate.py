"""The certificate reader, with certificates of the cryptography library and with random bytes."""

from __future__ import annotations

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.cert_manager.certificate import UnusableCertificate, parse, read
from tests.support.examples import examples

KEY = ec.generate_private_key(ec.SECP256R1())
UTC = datetime.UTC


def made(begin, end, subject=(), names=()):
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(kind, value) for kind, value in subject]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]))
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(names)), critical=False)
    return builder.sign(KEY, hashes.SHA256())


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


NODE = made(
    datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime.datetime(2051, 1, 1, tzinfo=UTC),
    [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:node:nöde")],
    [
        x509.DNSName("n1"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("fd00::1")),
    ],
)


def test_validity_subject_and_names_are_read():
    certificate = read(pem(NODE))
    assert certificate.not_before == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    assert certificate.not_after == datetime.datetime(2051, 1, 1, tzinfo=UTC).timestamp()
    assert (certificate.common_name, certificate.organizations) == ("system:node:nöde", ("system:nodes",))
    assert (certificate.dns_names, certificate.ips) == (("n1",), ("10.0.0.1", "fd00::1"))
    assert certificate.fingerprint == NODE.fingerprint(hashes.SHA256()).hex()


def test_the_first_certificate_is_the_leaf_also_after_a_key():
    form = serialization.PrivateFormat.PKCS8
    key = KEY.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    other = made(datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(2021, 1, 1, tzinfo=UTC))
    assert read(key + pem(NODE) + pem(other)) == read(pem(NODE))


@pytest.mark.parametrize("year", [1951, 1999, 2049, 2050, 2400])
def test_both_forms_of_time_are_read(year):
    end = datetime.datetime(year, 6, 1, tzinfo=UTC)
    assert read(pem(made(end - datetime.timedelta(1), end))).not_after == end.timestamp()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n",
        pem(NODE)[:200],
        b"x" * (2 << 20),
    ],
)
def test_other_content_is_refused_as_a_bad_certificate(content):
    with pytest.raises(UnusableCertificate):
        read(content)


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_a_damaged_certificate_is_read_or_refused(data):
    der = bytearray(NODE.public_bytes(serialization.Encoding.DER))
    for _ in range(data.draw(st.integers(1, 4))):
        der[data.draw(st.integers(0, len(der) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(der[: data.draw(st.integers(0, len(der)))])
    try:
        parse(damaged)
    except UnusableCertificate:
        pass
