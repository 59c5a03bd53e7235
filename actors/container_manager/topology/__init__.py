"""The topology manager: aligns CPUs, memory and devices of a container, or of a pod, to NUMA nodes.

devices.py         the hint provider of devices: asks the device manager
hint_merger.py     merges the hints of all providers into one affinity, and whether the policy admits it
kept_machine.py    the machine as the agent has found it at its start
local_provider.py  the part that the hint providers of CPUs and memory have in common
machine.py         the CPUs, caches, NUMA nodes and memory of this machine
pod_hardware.py    allocates a pod's hardware at admission, aligned by topologyManagerPolicy
provider.py        the interface of hint providers
"""
