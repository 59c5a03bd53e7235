"""The tools of mounters. `volume_tools.py` has them as one value, `VolumeTools`.

- `system_calls`: system calls that may hang
- `tmpfs_mounts`: tmpfs for emptyDir, secret and projected volumes
- `local_devices`: file systems on devices of this node
- `staged_disks`: network disks, attached once for all pods
- `delayed_retry`: one retry after a pause, however many failures ask for it
- `in_use_report`: which attached volumes are in use
- `fs_group`: ownership by the pod's fsGroup
- `volume_objects`: objects and tokens of the API server
- `node_allocatable`: the resources that pods of this node may use
"""
