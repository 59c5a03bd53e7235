"""ClusterTrustBundles: what a node may read, and which the server refuses. A server without them is passed over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.raw_api import MERGE, Obj, RawApi

GROUP = "/apis/certificates.k8s.io/v1beta1"
BUNDLES = f"{GROUP}/clustertrustbundles"


@pytest.fixture
def pem(api: RawApi, tmp_path: Path) -> str:
    found = api("GET", GROUP)
    if found.code == 404 or all(one["name"] != "clustertrustbundles" for one in found.obj["resources"]):
        pytest.skip("the server has no ClusterTrustBundles")
    return Authority(tmp_path).path.read_text()


@pytest.fixture
def name(api: RawApi) -> Iterator[str]:
    made = f"contract-{uuid.uuid4().hex[:8]}"
    yield made
    for one in api.get(BUNDLES)["items"]:
        if made in one["metadata"]["name"]:
            api("DELETE", f"{BUNDLES}/{one['metadata']['name']}")


def bundle(name: str, text: str, signer: str = "") -> Obj:
    return {"metadata": {"name": name}, "spec": {"trustBundle": text, **({"signerName": signer} if signer else {})}}


def test_a_node_reads_all_bundles_and_writes_none(api: RawApi, node: RawApi, pem: str, name: str) -> None:
    made = api.make(BUNDLES, bundle(name, f"a comment\n{pem}"))
    assert node.get(f"{BUNDLES}/{name}")["spec"] == made["spec"] == {"trustBundle": f"a comment\n{pem}"}
    assert name in [one["metadata"]["name"] for one in node.get(BUNDLES)["items"]]
    assert node("POST", BUNDLES, bundle(f"{name}-2", pem)).code == 403
    assert node("DELETE", f"{BUNDLES}/{name}").code == 403


def test_a_bundle_of_a_signer_has_its_name_for_a_prefix(api: RawApi, pem: str, name: str) -> None:
    signer = "example.com/contract"
    for wrong in (bundle(name, pem, signer), bundle(f"example.com:contract:{name}", pem), bundle(name, pem, "x")):
        assert api("POST", BUNDLES, wrong).failure[:2] == (422, "Invalid")
    made = api.make(BUNDLES, bundle(f"example.com:contract:{name}", pem, signer))
    path = f"{BUNDLES}/{made['metadata']['name']}"
    changed = api("PATCH", path, {"spec": {"signerName": "example.com/other"}}, form=MERGE)
    assert changed.failure[:2] == (422, "Invalid")


@pytest.mark.parametrize(
    "edit",
    [
        lambda pem: "",
        lambda pem: pem + pem,
        lambda pem: pem.replace("CERTIFICATE", "X509 CERTIFICATE"),
        lambda pem: pem.replace("-----\nMII", "-----\nA: b\n\nMII"),
        lambda pem: pem.replace("MII", "AII"),
    ],
    ids=["none", "twice", "label", "headers", "nonsense"],
)
def test_a_bundle_has_certificates_of_authorities_each_once(api: RawApi, pem: str, name: str, edit) -> None:
    assert edit(pem) != pem
    assert api("POST", BUNDLES, bundle(name, edit(pem))).failure[:2] == (422, "Invalid")
