"""The certificates of all pods whose volumes are mounted here."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef
from actors.shared.kube.credential_sources import POD_CERTIFICATE_GATE
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import VolumeProjection
from supervision.actor import Actor
from supervision.time_scale import scaled

from .api import CertificateApi
from .pod_certificate import PodCertificate
from .requests import WantedCertificate
from .states import PodCredentials

POLL_SECONDS: Final = 60.0
"""How often each certificate is looked at: for its renewal, and for an answer that was missed."""
POLL_JITTER: Final = 1.0
WAIT_SECONDS: Final = 2.0
"""How long a mount waits for the first certificate: a signer of the cluster mostly answers at once."""
GATE_OFF: Final = f"unimplemented (the feature gate {POD_CERTIFICATE_GATE} is off)"
"""Begins with the kubelet's words."""
STATES: Final = "kubelet_podcertificate_states"


class _Source(msgspec.Struct, frozen=True):
    """A source of a volume of a pod."""

    uid: str
    volume: str
    index: int


class PodCertificates:
    def __init__(
        self,
        actor: Actor,
        api: CertificateApi,
        changed: Callable[[str], None],
        wall: Callable[[], float],
        rng: Callable[[], float] = random.random,
    ) -> None:
        """`changed` is called with a pod's UID when it gets other credentials. `wall`: seconds since 1970."""
        self._actor, self._api, self._changed, self._wall, self._rng = actor, api, changed, wall, rng
        self._by_source: dict[_Source, PodCertificate] = {}
        self._shown: set[tuple[str, str]] = set()
        """Signer and state of each gauge."""

    def start(self) -> None:
        self._actor.every(POLL_SECONDS, self._advance_all, jitter=POLL_JITTER)

    def _advance_all(self) -> None:
        for certificate in self._by_source.values():
            certificate.advance()

    async def credentials(self, pod: Pod, volume: str, index: int, source: VolumeProjection) -> PodCredentials:
        """The credentials of a podCertificate source, the `index`th of the volume. The first call requests them."""
        key = _Source(pod.metadata.uid, volume, index)
        if key not in self._by_source:
            self._by_source[key] = certificate = self._certificate(pod, source)
            certificate.advance()
        return await self._by_source[key].credentials(scaled(WAIT_SECONDS))

    def _certificate(self, pod: Pod, source: VolumeProjection) -> PodCertificate:
        assert source.podCertificate is not None  # noqa: S101 - the caller chooses such sources
        meta = pod.metadata
        names = ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid)
        wanted = WantedCertificate(names, pod.spec.serviceAccountName or "default", source.podCertificate)
        return PodCertificate(self._actor, self._api, wanted, lambda: self._changed(meta.uid), self._wall, self._rng)

    def request_changed(self, ref: ObjectRef) -> None:
        """A PodCertificateRequest of this node has changed, or is gone."""
        for certificate in self._by_source.values():
            if certificate.wanted.pod.namespace == ref.namespace and certificate.awaits(ref.name):
                certificate.advance()

    def forget(self, uid: str) -> None:
        """The pod's volumes are unmounted."""
        for key in [key for key in self._by_source if key.uid == uid]:
            self._by_source.pop(key).end()

    def measure(self) -> None:
        counts = Counter((one.wanted.source.signerName, one.metric_state()) for one in self._by_source.values())
        for signer, state in self._shown - counts.keys():
            self._actor.metrics.drop(STATES, signer_name=signer, state=state)
        self._shown = set(counts)
        for (signer, state), count in counts.items():
            self._actor.metrics.gauge(STATES, count, signer_name=signer, state=state)
