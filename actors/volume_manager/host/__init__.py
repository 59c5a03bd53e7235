"""System calls of volumes. Those that may hang run in disposable processes: they take and return plain data only.

directories.py        directories of volumes on the agent's own file system, which needs no disposable process
host_path.py          checks the type of a hostPath, or creates it
device_links.py       links of devices in a pod's directory, on the agent's own file system
mapped_devices.py     what a kubelet keeps of a device that a pod uses
memory_mounts.py      volumes in memory: tmpfs and hugetlbfs
mount_program.py      mounts by the node's mount program, which finds the helper of each file system
ownership.py          fsGroup: changes the group of a volume's files (API doc, PodSecurityContext)
mount_propagation.py  mount propagation of the pods' directory: mounts below it reach containers
subpaths.py           subPath: one file or directory of a volume, bound to a place of its own
unmounts.py           unmounting below a pod's directory, deepest first, and removal of its files
scsi_devices.py       disks of the SCSI subsystem in sysfs, and the multipath devices above them
iscsi_attach.py       logs in to the target of an iSCSI disk, and waits for the disk
iscsi_detach.py       takes an iSCSI disk out of the SCSI subsystem, and logs out
iscsi_sessions.py     the iSCSI sessions, as sysfs has them
iscsiadm.py           the program that logs in to iSCSI targets
fc_disks.py           finds Fibre Channel disks, and takes them out of the SCSI subsystem
running_programs.py   programs that outlive the agent that has started them
disk_format.py        a file system on a block device: formatted when the device is empty, checked, mounted
local_volumes.py      local volumes: the type of a path, and its bind mount in a pod's directory
"""
