"""Volumes of storage drivers (CSI): registration of drivers, and the calls to them on this node.

access.py            the VolumeCapability of a volume
allocatable.py       the volume limit of each driver (CSINode allocatable.count)
api_objects.py       objects of the API server that CSI volumes depend on: CSIDriver, VolumeAttachment, Secret
connection.py        calls to a driver
csi_node.py          the CSINode object: the drivers of this node, and the node's ID for each
drivers.py           the drivers of this node: their connections and their entries in CSINode
errors.py            errors of drivers, and the kubelet's texts for the volumes that fail with them
volume_expansion.py  expands volumes whose PersistentVolumes have grown, as they are mounted and while they are used
expansion_plan.py    whether a volume is expanded on this node, and the resulting claim status (KEP-284, KEP-1790)
migration.py         in-tree volumes of clouds as volumes of their CSI drivers (KEP-625)
model.py             CSI drivers, their volumes, and the names and paths of these on this node
node_objects.py      writes the drivers of this node to the API server: CSINode, labels and annotation of the Node
pod_info.py          the attributes of a pod for its CSI driver, and whether the agent applies its fsGroup
progress.py          how far the driver is with a volume, kept in its record
record_file.py       the file of one volume's record, vol_data.json
records.py           finds the records of volumes, and removes them with their volumes
republishing.py      publishes volumes in use again, each syncFrequency
staging.py           stages volumes once for all pods, and unstages those that no pod uses
topology.py          the zones of in-tree volumes, under the keys of CSI drivers
volume_stats.py      usage figures of volumes, which their drivers measure on request (NodeGetVolumeStats)
volumes.py           publishes and unpublishes the volumes of CSI drivers
"""
