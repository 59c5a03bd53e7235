"""The API copy: the pods of this node as the API server has them, mirror pods included, each in its newest version."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from actors.shared.kube import codec
from actors.shared.kube.meta import Api
from actors.shared.kube.names import CONFIG_MIRROR
from actors.shared.kube.pod import PodStatus
from actors.shared.kube.resource_versions import order


class ApiMeta(Api, frozen=True):
    """The part of the metadata that the status manager reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    annotations: dict[str, str] = {}
    finalizers: list[str] = []


class ApiPod(Api, frozen=True):
    """A pod of the API server. Its spec is with the pod's worker."""

    metadata: ApiMeta = ApiMeta()
    status: PodStatus = PodStatus()

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def full_name(self) -> str:
        return f"{self.metadata.name}_{self.metadata.namespace}"

    @property
    def is_mirror(self) -> bool:
        return CONFIG_MIRROR in self.metadata.annotations

    @property
    def mirror_hash(self) -> str:
        return self.metadata.annotations.get(CONFIG_MIRROR, "")


def read(data: bytes) -> ApiPod:
    """Raises ObjectError."""
    return codec.decode(data, ApiPod)


class ApiPods:
    """The pods of the API server, by UID."""

    def __init__(self) -> None:
        self.synced = False
        """The API server's full list has come: a pod that is not in the copy does not exist there."""
        self._pods: dict[str, ApiPod] = {}
        self._mirrors: dict[str, str] = {}
        """UID of the mirror pod by full name."""

    def get(self, uid: str) -> ApiPod | None:
        return self._pods.get(uid)

    def mirror(self, full_name: str) -> ApiPod | None:
        return self._pods.get(self._mirrors.get(full_name, ""))

    def all(self) -> list[ApiPod]:
        return list(self._pods.values())

    def mirrors(self) -> list[ApiPod]:
        return [self._pods[uid] for uid in self._mirrors.values()]

    def put(self, pod: ApiPod, before: ApiPod | None = None) -> bool:
        """Store this version; False if it is not newer than the stored one (the watch lags behind an answer).

        `before`: for the answer to a request, the pod in the copy when the request was sent. If the copy still has it,
        any version is stored: a lower one comes from a server whose store was restored.
        """
        known = self._pods.get(pod.uid)
        if known is not None and known is not before and not _newer(pod, known):
            return False
        self._set(pod)
        return True

    def _set(self, pod: ApiPod) -> None:
        self._pods[pod.uid] = pod
        if pod.is_mirror:
            self._mirrors[pod.full_name] = pod.uid

    def drop(self, uid: str) -> ApiPod | None:
        """Remove a pod that the API server no longer has. Returns the removed pod."""
        gone = self._pods.pop(uid, None)
        if gone is not None and self._mirrors.get(gone.full_name) == uid:
            del self._mirrors[gone.full_name]
        return gone

    def replace(self, pods: Iterable[ApiPod], others: Collection[str] = (), *, more: bool = False) -> set[str]:
        """Replace all pods by the full list, but those of the UIDs `others`; or only add it, when `more` follows.
        Returns the UIDs of the pods that have changed.

        Versions are not compared: they are lower after a restore of the store. A list that lags behind an answer costs
        one write that the server refuses.
        """
        listed = {pod.uid: pod for pod in pods}
        gone = set[str]() if more else set(self._pods) - set(listed) - set(others)
        for uid in gone:
            self.drop(uid)
        self.synced = self.synced or not more
        changed = {uid for uid, pod in listed.items() if self._pods.get(uid) != pod}
        for uid in changed:
            self._set(listed[uid])
        return gone | changed


def _newer(one: ApiPod, other: ApiPod) -> bool:
    """Whether the version is newer. Versions that are not numbers count as newer: the last one received wins."""
    first, second = one.metadata.resourceVersion, other.metadata.resourceVersion
    found = order(first, second)
    return one != other if found is None else found > 0
