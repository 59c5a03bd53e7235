"""PodCertificateRequests and the keys that they prove, as the API server's own rules judge them."""

from __future__ import annotations

import base64

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from actors.shared.kube.credential_sources import KEY_TYPES, PodCertificateProjection
from actors.shared.kube.meta import ObjectMeta
from actors.volume_manager.files import pem
from actors.volume_manager.pod_certificates import keys
from actors.volume_manager.pod_certificates.requests import (
    RequestIdentities,
    UnreadableRequest,
    WantedCertificate,
    account_path,
    body,
    collection_path,
    read_status,
)
from tests.support.apiserver.certificate_requests import default_request, request_causes
from tests.support.apiserver.objects import Obj
from tests.support.pod_signer import NAME, PodSigner, condition

POD = ObjectMeta(name="p", namespace="ns", uid="pod-uid")


def made(key_type: str = "ED25519", **more: object) -> tuple[Obj, dict[str, bytes]]:
    source = PodCertificateProjection(signerName=NAME, keyType=key_type, keyPath="k", **more)  # type: ignore[arg-type]
    pair = keys.make(key_type)
    wanted, identities = WantedCertificate(POD, "account", source), RequestIdentities("a-uid", "n1", "n-uid")
    request: Obj = msgspec.json.decode(body(wanted, identities, pair["proof"]))
    default_request(request)
    return request, pair


@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_each_type_of_key_makes_a_request_that_the_api_server_takes(key_type: str) -> None:
    request, pair = made(key_type)
    assert request_causes(request, None) == []
    key = serialization.load_pem_private_key(pair["key"], None)
    assert pair["key"].startswith(b"-----BEGIN PRIVATE KEY-----\n"), "PKCS #8"
    proof = x509.load_der_x509_csr(base64.b64decode(request["spec"]["stubPKCS10Request"]))
    assert (len(proof.subject), len(proof.extensions)) == (0, 0), "a stub says nothing but the key"
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    assert key.public_key().public_bytes(*form) == proof.public_key().public_bytes(*form)
    match key:
        case rsa.RSAPrivateKey():
            assert key_type == f"RSA{key.key_size}"
        case ec.EllipticCurvePrivateKey():
            assert key_type == f"ECDSAP{key.key_size}"
        case _:
            assert isinstance(key, ed25519.Ed25519PrivateKey)


def test_each_key_is_another_one_and_other_types_there_are_not() -> None:
    assert keys.make("ED25519")["key"] != keys.make("ED25519")["key"]
    with pytest.raises(ValueError, match="unknown key type 'RSA2048'"):
        keys.make("RSA2048")


def test_a_request_names_pod_account_and_node_and_belongs_to_the_pod() -> None:
    request, _ = made(maxExpirationSeconds=7200, userAnnotations={"a.b/c": "d"})
    assert request["metadata"] == {
        "namespace": "ns",
        "generateName": "req-",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-uid"}],
    }
    assert {key: value for key, value in request["spec"].items() if key != "stubPKCS10Request"} == {
        "signerName": NAME,
        "podName": "p",
        "podUID": "pod-uid",
        "serviceAccountName": "account",
        "serviceAccountUID": "a-uid",
        "nodeName": "n1",
        "nodeUID": "n-uid",
        "maxExpirationSeconds": 7200,
        "unverifiedUserAnnotations": {"a.b/c": "d"},
    }
    assert made()[0]["spec"]["maxExpirationSeconds"] == 86400, "left to the API server"
    assert collection_path("ns") == "/apis/certificates.k8s.io/v1beta1/namespaces/ns/podcertificaterequests"
    wanted = WantedCertificate(POD, "a/b", PodCertificateProjection())
    assert account_path(wanted) == "/api/v1/namespaces/ns/serviceaccounts/a%2Fb"


def test_an_issued_chain_is_read_without_what_is_between_its_certificates() -> None:
    request, _ = made()
    status = PodSigner().issued(request, seconds=7200, renew_after=700)
    assert request_causes({**request, "status": status}, request) == []
    found = read_status(msgspec.json.encode({"status": status}))
    assert found.outcome == "issued"
    assert b"#" not in found.chain
    assert list(pem.blocks(found.chain.decode())) == list(pem.blocks(status["certificateChain"]))
    assert found.ends_at - found.renew_at == 7200 - 700


@pytest.mark.parametrize(("kind", "outcome"), [("Denied", "denied"), ("Failed", "failed")])
def test_a_refusal_is_read_with_its_reason(kind: str, outcome: str) -> None:
    found = read_status(msgspec.json.encode({"status": {"conditions": [condition(kind, "R", "m")]}}))
    assert (found.outcome, found.reason, found.message) == (outcome, "R", "m")


@pytest.mark.parametrize("text", ["{}", '{"status":{}}', '{"status":{"conditions":[{"type":"Other"}]}}'])
def test_without_a_known_condition_it_is_pending(text: str) -> None:
    assert read_status(text.encode()).outcome == "pending"


@pytest.mark.parametrize("text", ["<html>", '{"status":{"conditions":[{"type":"Issued"}]}}'])
def test_a_malformed_request_and_an_issued_one_without_a_certificate_are_errors(text: str) -> None:
    with pytest.raises(UnreadableRequest):
        read_status(text.encode())
