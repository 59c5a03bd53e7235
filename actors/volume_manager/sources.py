"""Volume sources that this node does not make itself, and what to tell who asked for one."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.volumes import Volume

CSI_DRIVERS: Final = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
"""In-tree sources that Kubernetes moved to CSI drivers (KEP-625)."""
REMOVED: Final = ("cephfs", "flocker", "glusterfs", "photonPersistentDisk", "quobyte", "rbd", "scaleIO", "storageos")
"""In-tree sources that Kubernetes dropped without a translation."""
NEEDS_API: Final = {
    "secret": "a Secret",
    "configMap": "a ConfigMap",
    "projected": "objects of the API",
    "persistentVolumeClaim": "a PersistentVolumeClaim",
    "ephemeral": "a PersistentVolumeClaim made from its template",
    "csi": "a driver that registers with the API",
}
NOT_YET: Final = ("iscsi", "fc", "flexVolume")


def source_of(volume: Volume) -> str:
    """The name of the field that is set; '' when none is."""
    for field in msgspec.structs.fields(Volume):
        value = getattr(volume, field.name)
        if field.name != "name" and value is not None and value != msgspec.Raw():
            return field.name
    return ""


def refusal(volume: Volume, *, joined: bool = False) -> str:
    """Why this node does not make the volume. `joined`: there is an API server."""
    source = source_of(volume)
    begin = f"volume {volume.name!r}: source {source}"
    if not source:
        return f"volume {volume.name!r} has no source that this agent knows"
    if source in CSI_DRIVERS:
        driver = CSI_DRIVERS[source]
        return f"{begin} is no longer part of Kubernetes: use the CSI driver {driver} with a PersistentVolumeClaim"
    if source in REMOVED:
        return f"{begin} was removed from Kubernetes: use a CSI driver that serves it"
    if source == "gitRepo":
        return f"{begin} is refused (CVE-2024-10220): clone in an init container into an emptyDir instead"
    if source in NEEDS_API and not joined:
        return f"{begin} needs {NEEDS_API[source]}, and this node has not joined an API server"
    return f"{begin} is not supported by this agent yet"
