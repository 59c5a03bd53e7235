"""Admission of pods, their cgroups, QoS tiers, node allocatable and pressure. The modules:

actor.py             what it is told, handed on to its parts
pod_admission.py     admits and resizes pods; the checks are in actors/shared/admission
counted_pods.py      enters, withdraws and releases pods, with their cgroups and records
ledger.py            the pods that are counted; pending_admissions.py: that wait; pod_inventory.py: of the workers
startup_hold.py      new pods wait after a restart; shutdown_admission.py: and while the node shuts down
cgroup_setup.py      the driver (cgroup_driver.py), kubepods and its tiers (qos_tiers.py, qos_limits.py)
pod_cgroups.py       cgroups of pods (pod_limits.py); removed by cgroup_removal.py and orphaned_cgroups.py
node_resources.py    capacity and allocatable; node_allocatable.py and reserved_cgroups.py enforce them
preemption.py        room for critical pods
eviction_admission.py  what the eviction manager tells: pressure conditions, and pods that are evicted
periodic_tasks.py    system_cgroups.py and utility_chains.py
"""
