"""The cgroups of pods, of the QoS tiers and of the host's reserved parts. The modules:

cgroup_manager.py         the interface for the rest of the container manager
cgroup_setup.py           before the first pod: chooses the driver (cgroup_driver.py), creates kubepods and its tiers
pod_cgroups.py            the tree: kubepods, its tiers, one cgroup for each pod; the limits of a pod: pod_limits.py
qos_tiers.py              keeps the tiers' limits in step with the pods; computed in qos_limits.py
node_allocatable.py       enforces node allocatable; reserved_cgroups.py: the limits of kubeReserved and systemReserved
cgroup_removal.py         removes a pod's cgroup, with retries
orphaned_cgroups.py       removes the cgroups of unknown pods; only the holder of the lock may (cgroup_lock.py)
runtime_cgroup_driver.py  asks the runtime for its cgroup driver, in a disposable process (KEP-4033)
system_cgroups.py         moves the host's processes in the root cgroup into systemCgroups
systemd_slices.py         starts and stops systemd's slices over its D-Bus interface
"""
