"""The trust anchors of a clusterTrustBundle source: which bundles, and their certificates as one PEM file. Pure.

The messages are the kubelet's, which users search for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from actors.api_clients.kube_client.messages import TrustBundles
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.credential_sources import ClusterTrustBundleProjection
from actors.shared.kube.go_text import quoted
from actors.shared.kube.label_selector import LabelSelectorError, selects_labels
from actors.shared.kube.trust_bundles import ClusterTrustBundle

from . import pem
from .content_error import ContentError


class BundleQuery(msgspec.Struct, frozen=True):
    """The bundle of this name, or all bundles of this signer."""

    name: str = ""
    signer: str = ""


def query_of(source: ClusterTrustBundleProjection) -> BundleQuery | None:
    """None for a source without name and signer, which the API does not allow."""
    if source.name is not None:
        return BundleQuery(name=source.name)
    return BundleQuery(signer=source.signerName) if source.signerName is not None else None


def anchors(source: ClusterTrustBundleProjection, found: TrustBundles, order: bytes) -> bytes:
    """PEM of the source's certificates, each once. `found`: the answer to its query; `order`: as of `merged`.

    Raises ContentError.
    """
    if found.error:
        raise ContentError(found.error)
    bundles = [_read(body) for body in found.bodies]
    if source.name is not None:
        if not bundles and not source.optional:
            what = f"clustertrustbundle.certificates.k8s.io {quoted(source.name)} not found"
            raise ContentError(f"while getting ClusterTrustBundle: {what}")
    else:
        bundles = _selected(source, bundles)
        if not bundles and not source.optional:
            raise ContentError("combination of signerName and labelSelector matched zero ClusterTrustBundles")
    return merged((bundle.spec.trustBundle for bundle in bundles), order)


def _selected(source: ClusterTrustBundleProjection, bundles: list[ClusterTrustBundle]) -> list[ClusterTrustBundle]:
    try:
        return [one for one in bundles if selects_labels(source.labelSelector, one.metadata.labels)]
    except LabelSelectorError as error:
        raise ContentError(f"while parsing label selector: {error}") from None


def merged(bundles: Iterable[str], order: bytes) -> bytes:
    """The certificates of these PEM texts, each once, without headers and what is between them.

    They are in an order that depends on `order` and nothing else, so that no program relies on the first one.
    """
    found = {der for text in bundles for der in pem.blocks(text)}
    ordered = sorted(found, key=lambda der: hashlib.blake2b(der, key=order, digest_size=16).digest())
    return b"".join(map(pem.certificate, ordered))


def _read(body: bytes) -> ClusterTrustBundle:
    try:
        return decode(body, ClusterTrustBundle)
    except ObjectError as error:
        raise ContentError(f"while normalizing trust anchors: {error}") from None
