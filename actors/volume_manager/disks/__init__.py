"""Network disks that the node attaches, once for all pods that use them: iscsi and fc.

- `model`: such a disk, its names, and its places on this node
- `records`: the disks that this node has attached, or may have
- `uses`: which pod uses which disk
- `attachment`: whether the attach controller has attached a disk to this node
- `chap`: the secret with which the node and an iSCSI target authenticate to each other

What attaches and detaches them is in `host/` (`iscsi_attach` and so on); `tools/staged_disks.py` decides when.
"""
