"""The interface of a volume type: its entry in the table of types, and a mounter for each of its volumes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import Volume
from actors.volume_manager.failure_texts import CHECK_OPTIONS, MountError
from actors.volume_manager.files.projections import PodTokenRequest
from actors.volume_manager.persistent_volumes.volume_claims import ClaimedVolume, UnusableVolume, mount_options
from actors.volume_manager.tools.volume_tools import VolumeTools
from actors.volume_manager.volume_paths import volume_path

_OPTIONS: Final = "mount options are not supported for this volume type"


class PodContext(msgspec.Struct, frozen=True, kw_only=True):
    """The pod of a volume that is planned."""

    pod: Pod
    pod_dir: str
    plugins_dir: str
    node_memory: int = 0
    """Bytes that pods of this node may use; 0: not known."""

    @property
    def fs_group(self) -> int | None:
        return self.pod.spec.securityContext.fsGroup

    @property
    def on_root_mismatch(self) -> bool:
        """fsGroupChangePolicy OnRootMismatch: change owners only if the volume's top directory has another group."""
        return self.pod.spec.securityContext.fsGroupChangePolicy == "OnRootMismatch"

    def path(self, plugin: str, name: str) -> str:
        """Where the volume is mounted; `plugin` as in `kubernetes.io/empty-dir`."""
        return volume_path(self.pod_dir, plugin, name)


class ApiInputs(msgspec.Struct, frozen=True):
    """The API objects and tokens from which a volume's files are made: a change refreshes the volume."""

    objects: frozenset[ObjectRef] = frozenset()
    tokens: frozenset[PodTokenRequest] = frozenset()
    trust_bundles: bool = False
    """Whether they come from ClusterTrustBundles, too."""
    certificates: bool = False
    """Whether they come from certificates of the pod, too."""

    def __bool__(self) -> bool:
        return bool(self.objects or self.tokens or self.trust_bundles or self.certificates)

    def __or__(self, other: ApiInputs) -> ApiInputs:
        return ApiInputs(
            self.objects | other.objects,
            self.tokens | other.tokens,
            self.trust_bundles or other.trust_bundles,
            self.certificates or other.certificates,
        )


class Mounter(msgspec.Struct, frozen=True, kw_only=True):
    """Mounts one volume of a pod: values decided from the spec, and `set_up`, which acts on them."""

    plugin: ClassVar[str]
    """The kubelet's name of the volume plugin: `kubernetes.io/empty-dir`."""
    refreshed: ClassVar[bool] = False
    """Whether `set_up` is called again when one of `inputs` changes."""
    follows_link: ClassVar[bool] = False
    """Whether `path` itself may be a symlink, as for a path that the user names."""

    volume: str
    path: str = ""
    """On the host; '' when the runtime mounts the volume."""
    persistent: str = ""
    """The name of its PersistentVolume; '' without one."""

    @property
    def is_device(self) -> bool:
        """Whether containers get a device, that of a volume of the mode Block."""
        return False

    @property
    def measured_plugin(self) -> str:
        """The plugin in metrics, where each driver of CSI is one: `kubernetes.io/csi:DRIVER`."""
        return self.plugin

    @property
    def spec_name(self) -> str:
        """The kubelet's name of the volume, in events and in directories: that of its PersistentVolume, if it has
        one."""
        return self.persistent or self.volume

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str | MountError:
        """Mount the volume; idempotent. '' or the error, as a text or a MountError."""
        raise NotImplementedError

    def inputs(self, pod: Pod) -> ApiInputs:
        return ApiInputs()

    def is_filled(self) -> bool:
        """Whether an earlier `set_up` left files that may serve while the API server is unavailable."""
        return False


class RejectedVolume(msgspec.Struct, frozen=True):
    """The volume cannot be mounted with this spec; a retry does not help."""

    volume: str
    message: str


class PendingVolume(msgspec.Struct, frozen=True):
    """The volume cannot be mounted now; a retry may succeed. `unusable`: its PersistentVolume, if known."""

    volume: str
    message: str
    unusable: UnusableVolume | None = None


Plan = Mounter | RejectedVolume | PendingVolume


class VolumeType(msgspec.Struct, frozen=True, kw_only=True):
    """A type's entry in the table."""

    source: str
    """The field of a Volume, and of a PersistentVolume's spec, by which the type is recognised."""
    plan: Callable[[Volume, PodContext], Plan] | None = None
    """For a volume of a pod's spec; None when only a PersistentVolume has this source. Pure."""
    has_devices: bool = False
    """Whether `plan_claim` supports the volume mode Block, which containers use as devices."""
    plan_claim: Callable[[ClaimedVolume, PodContext], Plan] | None = None
    """For a claim that is bound to a PersistentVolume with this source; None if the API has no such PersistentVolume.
    Pure.

    Raises VolumeClaimError.
    """
    needs_api: str = ""
    """The type's need for the API server, for the error on a standalone node; '' if none."""
    in_memory: Callable[[Volume], bool] = lambda volume: False
    """Whether `plan` needs to know the node's memory."""
    directories: Callable[[str, VolumeTools], Sequence[str]] = lambda pod_dir, tools: ()
    """Called with a pod's directory: the directories of this type below its `volumes` and `volumeDevices`, as in
    `kubernetes.io~csi`, whether they are there or not; needed with `tear_down`."""
    tear_down: Callable[[str, VolumeTools], Awaitable[str]] | None = None
    """Called with a pod's directory before everything below it is unmounted; '' or the error's text."""


def without_options(claimed: ClaimedVolume) -> PendingVolume | None:
    """For a type without mount options: the refusal of a PersistentVolume with some, which would have no effect."""
    if not mount_options(claimed.persistent):
        return None
    return PendingVolume(claimed.volume, _OPTIONS, UnusableVolume(claimed.name, MountError(_OPTIONS, CHECK_OPTIONS)))
