"""Which ClusterTrustBundles are chosen, and what is kept of them."""

from __future__ import annotations

import json

import pytest

from actors.api_clients.kube_client.trust_bundles import chosen, has_collection, trimmed_bundle


def bundle(name: str, signer: str = "") -> bytes:
    meta = {"name": name, "uid": "u", "labels": {"a": "b"}, "managedFields": [{"manager": "kubectl"}]}
    return json.dumps({"metadata": meta, "spec": {"signerName": signer, "trustBundle": "PEM"}}).encode()


def test_name_labels_and_spec_of_a_bundle_are_kept() -> None:
    kept = {"metadata": {"name": "b", "labels": {"a": "b"}}, "spec": {"signerName": "a.b/c", "trustBundle": "PEM"}}
    assert json.loads(trimmed_bundle(bundle("b", "a.b/c"))) == kept
    assert trimmed_bundle(b"[]") == b"[]"


def test_bundles_are_chosen_by_name_or_else_by_signer() -> None:
    bodies = [bundle("a"), bundle("a.b:c:d", "a.b/c"), bundle("a.b:c:e", "a.b/c"), b"[]"]
    assert chosen(bodies, "a", "") == bodies[:1]
    assert chosen(bodies, "", "a.b/c") == bodies[1:3]
    assert chosen(bodies, "x", "") == chosen(bodies, "", "x.y/z") == []


@pytest.mark.parametrize(
    ("body", "there"),
    [
        (b'{"resources":[{"name":"podcertificaterequests"},{"name":"clustertrustbundles"}]}', True),
        (b'{"resources":[{"name":"podcertificaterequests"}]}', False),
        (b"<html>", False),
    ],
)
def test_the_version_has_the_collection_if_it_lists_it(body: bytes, there: bool) -> None:
    assert has_collection(body) is there
