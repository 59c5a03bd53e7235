"""Admission of pods, their cgroups, QoS tiers, node allocatable and pressure. The modules:

actor.py                  the actor: receives messages, and passes them to its parts
pod_admission.py          admits and resizes pods; the checks are in actors/shared/admission
counted_pods.py           enters, withdraws and releases pods, with their cgroups and records
ledger.py                 the pods that are counted; pending_admissions.py: that wait
startup_hold.py           new pods wait after a restart; shutdown_admission.py: and while the node shuts down
cgroup_setup.py           the driver (cgroup_driver.py), kubepods and its tiers (qos_tiers.py, qos_limits.py)
pod_cgroups.py            cgroups of pods (pod_limits.py); removed by cgroup_removal.py and orphaned_cgroups.py
node_resources.py         capacity and allocatable; node_allocatable.py and reserved_cgroups.py enforce them
preemption.py             room for critical pods
eviction_admission.py     what the eviction manager tells: pressure conditions, and pods that are evicted
periodic_tasks.py         system_cgroups.py and utility_chains.py
cgroup_lock.py            the cgroup lock: of two agents with the same cgroupRoot only its holder may remove its cgroups
cpu/                      the CPU manager: CPUs of their own for containers of Guaranteed pods that ask for whole CPUs
earlier_records.py        takes over the resources of pods from the files `pods/<uid>/allocated-resources`
hardware_setup.py         makes the managers of devices, CPUs and memory of the container manager
hardware_start.py         what the managers of CPUs and memory go on from: the machine, the configuration
memory/                   the memory manager: memory and huge pages of chosen NUMA nodes for containers
pod_resizes.py            decides resizes of admitted pods
pod_resource_records.py   keeps the records of what pods are allocated and what the runtime has actuated
resize_queue.py           the resizes that wait for room, in the order in which they get it (KEP-1287)
resize_rules.py           which resizes this node never carries out, whatever room there is (KEP-1287)
runtime_cgroup_driver.py  asks the runtime for its cgroup driver (KEP-4033)
state_store.py            a value in memory, and the state file that outlives this process
systemd_slices.py         slices of systemd, made and stopped over its D-Bus interface
topology/                 the topology manager: aligns CPUs, memory and devices of a container, or of a pod
user_namespaces.py        gives each pod with a user namespace IDs of its own (KEP-127)
"""
