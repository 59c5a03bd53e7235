"""The self-signed pair, read back and used in a real TLS handshake."""

from __future__ import annotations

import os
import ssl
import stat
import time
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from actors.cert_manager.certificate import UnusableCertificate
from actors.cert_manager.certificate_store import load_pair
from actors.cert_manager.self_signed import create
from tests.support.present import present


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    cert, key = str(tmp_path / "pki" / "kubelet.crt"), str(tmp_path / "pki" / "kubelet.key")
    create(cert, key, "node-1", ["node-1", "127.0.0.1"])
    return cert, key


def test_the_created_pair_is_valid_for_a_year(pair):
    certificate = load_pair(*pair).certificate
    assert certificate.names == {"node-1", "127.0.0.1"}
    assert 364 * 86400 < certificate.not_after - time.time() < 366 * 86400


def test_the_file_has_a_leaf_and_its_ca_both_valid_since_an_hour_ago(pair):
    leaf, ca = x509.load_pem_x509_certificates(Path(pair[0]).read_bytes())
    for certificate in (leaf, ca):
        key = certificate.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        assert isinstance(key.curve, ec.SECP256R1)
        assert 3600 <= time.time() - certificate.not_valid_before_utc.timestamp() < 3660
        assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=365, hours=1)
    leaf.verify_directly_issued_by(ca)
    ca.verify_directly_issued_by(ca)
    limits = [one.extensions.get_extension_for_class(x509.BasicConstraints).value.ca for one in (leaf, ca)]
    assert limits == [False, True]


def test_both_files_are_for_the_owner_only(pair):
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in pair] == [0o600, 0o600]


def test_a_client_that_trusts_the_ca_in_the_file_accepts_the_server(pair):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*pair)
    client = ssl.create_default_context(cafile=pair[0])
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    c = client.wrap_bio(to_client, to_server, server_hostname="node-1")
    s = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (c, s):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
    assert present(c.getpeercert())["subjectAltName"] == (("DNS", "node-1"), ("IP Address", "127.0.0.1"))


def test_a_key_of_another_pair_is_refused(pair, tmp_path):
    other = str(tmp_path / "o.crt"), str(tmp_path / "o.key")
    create(*other, "node-2", ["node-2"])
    with pytest.raises(UnusableCertificate, match="cannot be used together"):
        load_pair(pair[0], other[1])


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_file_without_a_certificate_is_refused(pair, content):
    Path(pair[0]).write_bytes(content)
    with pytest.raises(UnusableCertificate):
        load_pair(*pair)
