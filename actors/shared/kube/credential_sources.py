"""Sources of projected volumes with X.509 credentials: trust bundles of the cluster, certificates of pods. Their
validation (API reference, Volume v1 core).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from . import formats
from .label_selector import LabelSelector
from .meta import Api

TRUST_BUNDLE_GATE: Final = "ClusterTrustBundleProjection"
POD_CERTIFICATE_GATE: Final = "PodCertificateRequest"
"""The feature gates of the two sources."""
NO_TRUST_BUNDLES: Final = "ClusterTrustBundle projection is not supported in static kubelet mode"
"""The kubelet's words for any reason for which it looks at no bundle."""
KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
MIN_EXPIRATION: Final = 3600
MAX_EXPIRATION: Final = 91 * 86400
MAX_KUBERNETES_EXPIRATION: Final = 86400
"""For signers of the domain kubernetes.io and its subdomains."""
MAX_ANNOTATION_BYTES: Final = 256 << 10


class ClusterTrustBundleProjection(Api, frozen=True):
    """The trust anchors of the bundle `name`, or of the bundles of `signerName` that `labelSelector` selects."""

    name: str | None = None
    signerName: str | None = None
    labelSelector: LabelSelector | None = None
    """None selects nothing."""
    optional: bool | None = None
    path: str = ""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.name is not None and self.signerName is not None:
            yield "", "only one of name and signerName may be used"
        elif self.name is not None:
            if wrong := formats.trust_bundle_name(self.name):
                yield "name", wrong
            if self.labelSelector is not None:
                yield "labelSelector", "must be unset if name is specified"
        elif self.signerName is not None:
            if wrong := formats.signer_name(self.signerName):
                yield "signerName", wrong
            for field, wrong in self.labelSelector.problems() if self.labelSelector is not None else ():
                yield f"labelSelector.{field}", wrong
        else:
            yield "", "either name or signerName must be specified"
        if wrong := formats.own_path(self.path) if self.path else "required":
            yield "path", wrong

    def paths(self) -> Iterator[str]:
        yield self.path


class PodCertificateProjection(Api, frozen=True):
    """A private key made on the node, and the certificate that `signerName` issues for it."""

    signerName: str = ""
    keyType: str = ""
    maxExpirationSeconds: int | None = None
    credentialBundlePath: str = ""
    """The key, followed by the certificate chain."""
    keyPath: str = ""
    certificateChainPath: str = ""
    userAnnotations: dict[str, str] = {}

    def problems(self) -> Iterator[tuple[str, str]]:
        if wrong := formats.signer_name(self.signerName):
            yield "signerName", wrong
        if self.keyType not in KEY_TYPES:
            yield "keyType", f"{self.keyType[:40]!r} is not one of {', '.join(KEY_TYPES)}"
        limit = MAX_KUBERNETES_EXPIRATION if _is_kubernetes(self.signerName) else MAX_EXPIRATION
        seconds = self.maxExpirationSeconds
        if seconds is not None and not MIN_EXPIRATION <= seconds <= limit:
            yield "maxExpirationSeconds", f"{seconds} is not between {MIN_EXPIRATION} and {limit}"
        yield from self._annotation_problems()
        for field in ("credentialBundlePath", "keyPath", "certificateChainPath"):
            if wrong := formats.own_path(getattr(self, field)):
                yield field, wrong
        if not any(self.paths()):
            yield "", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"

    def _annotation_problems(self) -> Iterator[tuple[str, str]]:
        for key in self.userAnnotations:
            if "/" not in key:
                yield "userAnnotations", f"{key[:60]!r} needs a prefix, as example.com/name"
            elif wrong := formats.qualified_name(key.lower()):
                yield "userAnnotations", wrong
        if sum(len(key) + len(value) for key, value in self.userAnnotations.items()) > MAX_ANNOTATION_BYTES:
            yield "userAnnotations", f"more than {MAX_ANNOTATION_BYTES >> 10} KiB in total"

    def paths(self) -> Iterator[str]:
        yield from filter(None, (self.credentialBundlePath, self.keyPath, self.certificateChainPath))


def _is_kubernetes(signer: str) -> bool:
    domain = signer.partition("/")[0]
    return domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
