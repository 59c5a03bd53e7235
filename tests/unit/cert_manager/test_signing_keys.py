"""Keys, requests, and the certificate store."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from actors.cert_manager.certificate import UnusableCertificate
from actors.cert_manager.certificate_store import KEPT_FILES, CertificateStore, install, load_pair
from actors.cert_manager.signing_keys import request
from tests.support.apiserver.authority import Authority

USER = "system:node:n1"


@pytest.fixture
def store(tmp_path: Path) -> CertificateStore:
    return CertificateStore(str(tmp_path / "pki"), "kubelet-client")


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def ask(store: CertificateStore, **changes: Any) -> dict:
    given: dict[str, Any] = {
        "key_file": store.key_path,
        "in_use": store.current_path,
        "signer": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
        "user": USER,
        "group": "system:nodes",
        "names": [],
    }
    return request(**{**given, **changes})


def signed(authority: Authority, made: dict, seconds: int = 3600) -> bytes:
    csr = x509.load_pem_x509_csr(made["request"])
    assert csr.is_signature_valid
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    key = csr.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return authority.sign(csr.subject, key, seconds, usage)


def test_the_key_is_a_private_p256_key_and_the_request_names_the_user(store):
    made = ask(store, names=["n1", "10.0.0.1"])
    csr = x509.load_pem_x509_csr(made["request"])
    key = csr.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert csr.subject.rfc4514_string() == f"CN={USER},O=system:nodes"
    names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["n1", "10.0.0.1"]
    assert stat.S_IMODE(os.stat(store.key_path).st_mode) == 0o600
    assert made["usages"] == ["digital signature", "client auth"]


def test_the_name_depends_on_the_key_and_the_requested_fields(store):
    first = ask(store)
    assert first["name"].startswith("csr-")
    assert ask(store)["name"] == first["name"]
    assert ask(store, names=["n1"])["name"] != first["name"]
    assert ask(store, signer="kubernetes.io/kubelet-serving")["name"] != first["name"]
    Path(store.key_path).unlink()
    assert ask(store)["name"] != first["name"]


def test_an_existing_rsa_key_is_used_with_key_encipherment(store):
    Path(store.directory).mkdir()
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    Path(store.key_path).write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    assert ask(store)["usages"] == ["key encipherment", "digital signature", "client auth"]


@pytest.mark.parametrize(
    "content", [b"", b"rubbish", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_file_that_cannot_be_used_is_replaced(store, content):
    Path(store.directory).mkdir()
    Path(store.key_path).write_bytes(content)
    assert x509.load_pem_x509_csr(ask(store)["request"]).is_signature_valid


@pytest.mark.filterwarnings("ignore:Attribute")
def test_a_node_name_longer_than_a_common_name_is_requested(store):
    user = "system:node:" + "n" * 100
    assert user in x509.load_pem_x509_csr(ask(store, user=user)["request"]).subject.rfc4514_string()


def test_an_installed_pair_is_current_and_its_key_is_not_used_again(store, authority):
    made = ask(store)
    key = Path(store.key_path).read_bytes()
    install(store.directory, store.prefix, signed(authority, made))
    pair = store.repaired(time.time())
    assert pair is not None
    assert pair.certificate.common_name == USER
    assert not store.has_key
    Path(store.key_path).write_bytes(key)  # as if killed before it was removed
    assert ask(store)["name"] != made["name"]


def test_a_certificate_of_another_key_is_refused_and_nothing_changes(store, authority):
    install(store.directory, store.prefix, signed(authority, ask(store)))
    before = Path(store.current_path).read_bytes()
    foreign = signed(authority, ask(store))
    Path(store.key_path).unlink()
    ask(store)
    with pytest.raises(UnusableCertificate, match="cannot be used together"):
        install(store.directory, store.prefix, foreign)
    assert Path(store.current_path).read_bytes() == before
    assert {path.name for path in Path(store.directory).iterdir()} == {
        "kubelet-client-current.pem",
        os.readlink(store.current_path),
        "kubelet-client.key.tmp",
    }


def test_old_pairs_are_removed(store, authority):
    for month in range(1, 7):
        install(store.directory, store.prefix, signed(authority, ask(store)))
        old = Path(store.directory, os.readlink(store.current_path))
        old.rename(old.with_name(f"kubelet-client-2020-0{month}-01-00-00-00.pem"))
        Path(store.current_path).unlink()
    install(store.directory, store.prefix, signed(authority, ask(store)))
    assert len(list(Path(store.directory).glob("kubelet-client-2*.pem"))) == KEPT_FILES


def test_a_valid_pair_replaces_an_expired_current_pair(store, authority):
    install(store.directory, store.prefix, signed(authority, ask(store)))
    good = os.readlink(store.current_path)
    ended = f"{store.directory}/kubelet-client-2099-01-01-00-00-00.pem"
    key = ask(store)
    Path(ended).write_bytes(signed(authority, key, seconds=-60) + Path(store.key_path).read_bytes())
    store._point_to(os.path.basename(ended))
    load_pair(ended, ended)
    pair = store.repaired(time.time())
    assert pair is not None
    assert pair.certificate.not_after > time.time()
    assert os.readlink(store.current_path) == good


def test_a_store_of_another_node_agent_is_read(store, authority):
    """The kubelet uses an absolute link, and writes the key first."""
    made = ask(store)
    path = Path(store.directory, "kubelet-client-2026-01-01-00-00-00.pem")
    path.write_bytes(Path(store.key_path).read_bytes() + signed(authority, made))
    Path(store.current_path).symlink_to(path)
    pair = store.repaired(time.time())
    assert pair is not None
    assert pair.certificate.common_name == USER


def test_an_empty_store_has_no_pair(store):
    assert store.repaired(time.time()) is None
