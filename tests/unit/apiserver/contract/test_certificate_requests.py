"""PodCertificateRequests: what a node may do, and which the server refuses. A server without them is passed over."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from actors.shared.kube.credential_sources import PodCertificateProjection
from actors.shared.kube.meta import ObjectMeta
from actors.volume_manager.pod_certificates import keys, requests
from tests.support.pod_signer import NAME, PodSigner, condition
from tests.support.raw_api import MERGE, Answered, Obj, RawApi
from tests.unit.apiserver.contract.conftest import NODE, Namespace

pytestmark = pytest.mark.slow

PLURAL = "podcertificaterequests"


class Requests:
    """Those for a pod of the node."""

    def __init__(self, space: Namespace) -> None:
        self.space, self.path = space, space.of(PLURAL, "certificates.k8s.io/v1beta1")
        made = space.api.make("/api/v1/nodes", {"metadata": {"name": NODE}})
        self.pod = space.pod(nodeName=NODE)
        account = space.api.get(f"{space.path}/serviceaccounts/default")
        self._identities = requests.RequestIdentities(account["metadata"]["uid"], NODE, made["metadata"]["uid"])

    def request(self, key_type: str = "ED25519", **more: object) -> Obj:
        meta = ObjectMeta(name="p", namespace=self.space.name, uid=self.pod["metadata"]["uid"])
        source = PodCertificateProjection(signerName=NAME, keyType=key_type, keyPath="k", **more)  # type: ignore[arg-type]
        wanted = requests.WantedCertificate(meta, "default", source)
        found: Obj = msgspec.json.decode(requests.body(wanted, self._identities, keys.make(key_type)["proof"]))
        return found

    def decide(self, request: Obj, status: Obj) -> Answered:
        path = f"{self.path}/{request['metadata']['name']}/status"
        return self.space.api("PATCH", path, {"status": status}, form=MERGE)


@pytest.fixture
def made(space: Namespace) -> Iterator[Requests]:
    found = space.api("GET", "/apis/certificates.k8s.io/v1beta1")
    if found.code == 404 or all(one["name"] != PLURAL for one in found.obj["resources"]):
        pytest.skip("the server has no PodCertificateRequests")
    space.api("DELETE", f"/api/v1/nodes/{NODE}")
    yield Requests(space)
    space.api("DELETE", f"/api/v1/nodes/{NODE}")


def created(made: Requests, node: RawApi, request: Obj) -> Obj:
    """By the node, once the server's caches have pod and node."""
    end = time.monotonic() + 5.0
    while (answer := node("POST", made.path, request)).code != 201 and time.monotonic() < end:
        time.sleep(0.1)
    assert answer.code == 201, answer.body
    return answer.obj


def test_a_node_creates_requests_for_its_pods_and_reads_them(made: Requests, node: RawApi) -> None:
    request = made.request(userAnnotations={"a.b/c": "d"})
    obj = created(made, node, request)
    assert obj["metadata"]["name"].startswith("req-")
    assert obj["metadata"]["ownerReferences"] == request["metadata"]["ownerReferences"]
    assert obj["spec"] | request["spec"] == obj["spec"]
    assert obj["spec"]["maxExpirationSeconds"] == 86400
    everywhere = f"/apis/certificates.k8s.io/v1beta1/{PLURAL}"
    own = node.get(everywhere, fieldSelector=f"spec.nodeName={NODE}")
    names = [one["metadata"]["name"] for one in own["items"]]
    assert obj["metadata"]["name"] in names
    assert node("GET", everywhere).code == 403
    path = f"{made.path}/{obj['metadata']['name']}"
    assert node("DELETE", path).code == 403
    assert node("PATCH", f"{path}/status", {"status": {}}, form=MERGE).code == 403


def test_a_node_reads_the_service_accounts_of_its_pods_alone(made: Requests, node: RawApi) -> None:
    accounts = f"{made.space.path}/serviceaccounts"
    created(made, node, made.request())
    assert node("GET", f"{accounts}/default").code == 200
    assert node("GET", f"{accounts}/other").code == 403


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nodeName", "other"),
        ("nodeUID", "x"),
        ("podUID", "x"),
        ("podName", "other"),
        ("serviceAccountUID", "x"),
        ("serviceAccountName", "other"),
    ],
)
def test_a_request_that_does_not_fit_its_pod_is_refused(made: Requests, node: RawApi, field: str, value: str) -> None:
    request = made.request()
    created(made, node, request)
    request["spec"][field] = value
    assert node("POST", made.path, request).code in (403, 404, 500)


def _small_rsa() -> bytes:
    return _proof(rsa.generate_private_key(65537, 2048))


def _proof(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def _forged() -> bytes:
    proof = _proof(ec.generate_private_key(ec.SECP256R1()))
    return proof[:-1] + bytes([proof[-1] ^ 1])


@pytest.mark.parametrize("proof", [_small_rsa, _forged, lambda: b"nonsense", lambda: b""])
def test_a_proof_must_be_one_of_a_strong_key(made: Requests, proof: Callable[[], bytes]) -> None:
    request = made.request()
    request["spec"]["stubPKCS10Request"] = base64.b64encode(proof()).decode()
    assert made.space.api("POST", made.path, request).failure[:2] == (422, "Invalid")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxExpirationSeconds", 3599),
        ("maxExpirationSeconds", 91 * 86400 + 1),
        ("signerName", "nodot/x"),
        ("unverifiedUserAnnotations", {"a": "b"}),
        ("nodeUID", ""),
    ],
)
def test_a_request_with_a_wrong_field_is_invalid(made: Requests, field: str, value: object) -> None:
    request = made.request()
    request["spec"][field] = value
    assert made.space.api("POST", made.path, request).failure[:2] == (422, "Invalid")


@pytest.mark.parametrize("key_type", ["RSA3072", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"])
def test_a_signer_issues_once(made: Requests, key_type: str) -> None:
    request = made.space.api.make(made.path, made.request(key_type))
    signer = PodSigner()
    for wrong in (
        signer.issued(request, seconds=3000),
        signer.issued(request, seconds=90_000),
        signer.issued(request, renew_after=500),
        {**signer.issued(request), "notAfter": "2040-01-01T00:00:00Z"},
        {**signer.issued(request), "certificateChain": ""},
        {"notAfter": "2040-01-01T00:00:00Z"},
        {**signer.issued(request), "conditions": [condition("Denied")]},
    ):
        assert made.decide(request, wrong).code == 422, wrong
    other = made.space.api.make(made.path, made.request(key_type))
    assert made.decide(request, signer.issued(other)).code == 422
    assert made.decide(request, signer.issued(request)).code == 200
    assert made.decide(request, signer.issued(request)).code == 422
    assert made.decide(other, {"conditions": [condition("Denied")]}).code == 200
    assert made.decide(other, {"conditions": [condition("Failed")]}).code == 422
