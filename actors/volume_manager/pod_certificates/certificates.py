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
from .life import CertificateLife
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


class _Place(msgspec.Struct, frozen=True):
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
        self._lives: dict[_Place, CertificateLife] = {}
        self._shown: set[tuple[str, str]] = set()
        """Signer and state of each gauge."""

    def start(self) -> None:
        self._actor.every(POLL_SECONDS, self._advance_all, jitter=POLL_JITTER)

    def _advance_all(self) -> None:
        for life in self._lives.values():
            life.advance()

    async def credentials(self, pod: Pod, volume: str, index: int, source: VolumeProjection) -> PodCredentials:
        """Of a podCertificate source, the `index`th of the volume. It is requested by the first call."""
        place = _Place(pod.metadata.uid, volume, index)
        if place not in self._lives:
            self._lives[place] = life = self._life(pod, source)
            life.advance()
        return await self._lives[place].credentials(scaled(WAIT_SECONDS))

    def _life(self, pod: Pod, source: VolumeProjection) -> CertificateLife:
        assert source.podCertificate is not None  # noqa: S101 - the caller chooses such sources
        meta = pod.metadata
        names = ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid)
        wanted = WantedCertificate(names, pod.spec.serviceAccountName or "default", source.podCertificate)
        return CertificateLife(self._actor, self._api, wanted, lambda: self._changed(meta.uid), self._wall, self._rng)

    def request_changed(self, ref: ObjectRef) -> None:
        """A PodCertificateRequest of this node has changed, or is gone."""
        for life in self._lives.values():
            if life.wanted.pod.namespace == ref.namespace and life.awaits(ref.name):
                life.advance()

    def forget(self, uid: str) -> None:
        """The pod's volumes are unmounted."""
        for place in [place for place in self._lives if place.uid == uid]:
            self._lives.pop(place).end()

    def measure(self) -> None:
        counts = Counter((life.wanted.source.signerName, life.metric_state()) for life in self._lives.values())
        for signer, state in self._shown - counts.keys():
            self._actor.metrics.drop(STATES, signer_name=signer, state=state)
        self._shown = set(counts)
        for (signer, state), count in counts.items():
            self._actor.metrics.gauge(STATES, count, signer_name=signer, state=state)
