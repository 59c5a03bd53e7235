"""The trust anchors of a clusterTrustBundle source, and the PEM blocks that they come from."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.api_clients.kube_client.messages import TrustBundles
from actors.shared.kube.credential_sources import ClusterTrustBundleProjection
from actors.shared.kube.label_selector import LabelSelector
from actors.shared.kube.node_selector import Requirement
from actors.volume_manager.files import pem
from actors.volume_manager.files.content_error import ContentError
from actors.volume_manager.files.trust_anchors import BundleQuery, anchors, merged, query_of

DERS = st.lists(st.binary(min_size=1, max_size=200), max_size=6)
ORDER = b"0123456789abcdef"
BETWEEN = st.sampled_from(["", "\n", "a comment: of the operator\n", "-----BEGIN\n", "subject=CN = x\n\n"])


def block(der: bytes, label: str = "CERTIFICATE", headers: str = "") -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{headers}{text}-----END {label}-----\n"


def bundle(text: str, **labels: str) -> bytes:
    spec = {"signerName": "example.com/a", "trustBundle": text}
    return json.dumps({"metadata": {"name": "b", "labels": labels}, "spec": spec}).encode()


def blocks_of(data: bytes) -> list[bytes]:
    return list(pem.blocks(data.decode()))


@given(DERS, st.data())
def test_blocks_are_found_whatever_is_between_them_and_in_their_headers(ders: list[bytes], data: st.DataObject) -> None:
    text = data.draw(BETWEEN)
    for der in ders:
        headers = data.draw(st.sampled_from(["", "Proc-Type: 4\nX: y\n\n", "\n"]))
        text += block(der, data.draw(st.sampled_from(["CERTIFICATE", "X509 CERTIFICATE"])), headers)
        text += data.draw(BETWEEN)
    assert list(pem.blocks(text)) == ders
    assert list(pem.blocks(text.replace("\n", "\r\n"))) == ders


@pytest.mark.parametrize(
    "text", ["", "-----BEGIN A-----\nAAAA\n-----END B-----\n", "-----BEGIN A-----\n%\n-----END A-----\n"]
)
def test_text_that_is_no_block_is_skipped(text: str) -> None:
    assert list(pem.blocks(text)) == []
    assert list(pem.blocks(text + block(b"x"))) == [b"x"]


@given(st.binary(min_size=1, max_size=300))
@example(bytes(300))
def test_a_certificate_is_written_in_lines_of_64_characters(der: bytes) -> None:
    lines = pem.certificate(der).decode().splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    assert all(len(line) == 64 for line in lines[1:-2])
    assert list(pem.blocks(pem.certificate(der).decode())) == [der]


@given(st.lists(DERS, max_size=4), st.randoms())
def test_anchors_of_several_bundles_are_there_once_in_an_order_of_their_own(ders, random) -> None:
    texts = ["".join(map(block, each)) for each in ders]
    found = merged(texts, ORDER)
    assert sorted(blocks_of(found)) == sorted({der for each in ders for der in each})
    random.shuffle(texts)
    assert merged(texts, ORDER) == found, "whatever the order of the bundles"


def test_another_start_has_another_order() -> None:
    text = "".join(block(bytes([number])) for number in range(20))
    first, second = merged([text], ORDER), merged([text], b"other")
    assert blocks_of(first) != blocks_of(second)
    assert sorted(blocks_of(first)) == sorted(blocks_of(second))
    assert blocks_of(first) != [bytes([number]) for number in range(20)]


def test_the_query_is_by_name_or_by_signer() -> None:
    assert query_of(ClusterTrustBundleProjection(name="b", path="p")) == BundleQuery(name="b")
    assert query_of(ClusterTrustBundleProjection(signerName="a.b/c", path="p")) == BundleQuery(signer="a.b/c")
    assert query_of(ClusterTrustBundleProjection(path="p")) is None


def test_a_selector_chooses_among_the_bundles_of_the_signer() -> None:
    found = TrustBundles([bundle(block(b"1"), tier="a"), bundle(block(b"2"), tier="b"), bundle(block(b"3"))])

    def chosen(selector: LabelSelector | None) -> list[bytes]:
        source = ClusterTrustBundleProjection(signerName="example.com/a", labelSelector=selector, path="p")
        return sorted(blocks_of(anchors(source, found, ORDER)))

    assert chosen(LabelSelector()) == [b"1", b"2", b"3"]
    assert chosen(LabelSelector(matchLabels={"tier": "b"})) == [b"2"]
    with pytest.raises(ContentError) as none:
        chosen(None)
    assert str(none.value) == "combination of signerName and labelSelector matched zero ClusterTrustBundles"
    with pytest.raises(ContentError) as wrong:
        chosen(LabelSelector(matchExpressions=[Requirement("tier", "Lt", ["b"])]))
    assert str(wrong.value) == 'while parsing label selector: "Lt" is not a valid label selector operator'


def test_a_missing_bundle_is_an_error_and_without_content_when_it_is_optional() -> None:
    with pytest.raises(ContentError) as missing:
        anchors(ClusterTrustBundleProjection(name="b", path="p"), TrustBundles(), ORDER)
    text = 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "b" not found'
    assert str(missing.value) == text
    for source in ({"name": "b"}, {"signerName": "a.b/c"}, {"signerName": "a.b/c", "labelSelector": LabelSelector()}):
        optional = ClusterTrustBundleProjection(**source, path="p", optional=True)
        assert anchors(optional, TrustBundles(), ORDER) == b""


def test_bundles_that_are_not_known_are_an_error_even_when_they_are_optional() -> None:
    source = ClusterTrustBundleProjection(name="b", path="p", optional=True)
    with pytest.raises(ContentError, match="informer has not yet synced"):
        anchors(source, TrustBundles(error="informer has not yet synced"), ORDER)
