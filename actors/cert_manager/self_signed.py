"""Creates a self-signed serving pair for a node whose cluster does not sign one: a CA and a leaf, valid for one year.

Runs in a disposable process, to keep the cryptography library and key generation out of the actor. As in
the kubelet: valid from one hour ago (clocks differ), the leaf followed by its CA in one file, key ECDSA P-256.
"""

from __future__ import annotations

import datetime
import ipaddress
import time
from pathlib import Path
from typing import Any

from supervision.state_file import write_private

YEAR_SECONDS = 365 * 24 * 3600
BACKDATE_SECONDS = 3600


def create(cert_file: str, key_file: str, host: str, names: list[str]) -> None:
    """Create a pair for `host` with these DNS names and addresses and write both files (0600, by rename).

    Raises OSError when a file cannot be written.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    now = datetime.datetime.now(datetime.UTC)
    begin = now - datetime.timedelta(seconds=BACKDATE_SECONDS)
    end = now + datetime.timedelta(seconds=YEAR_SECONDS)

    def builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )

    stamp = str(int(time.time()))
    ca_name, leaf_name = f"{host[:40]}-ca@{stamp}", f"{host[:40]}@{stamp}"
    ca_key, leaf_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_id = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = (
        builder(ca_name, ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=False, certify=True), critical=True)
        .add_extension(ca_id, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    leaf = (
        builder(leaf_name, ca_name, leaf_key)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(sign=True, certify=False), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ca_id), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key_pem = leaf_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_private(Path(key_file), key_pem)
    write_private(Path(cert_file), leaf.public_bytes(pem) + ca.public_bytes(pem))


def _usage(*, sign: bool, certify: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certify,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
