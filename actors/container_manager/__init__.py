"""Admission of pods, their cgroups, and the exclusive CPUs, memory and devices of containers. The modules:

actor.py                  the actor: receives messages, and passes them to its parts
admission/                which pods count on this node, and which are refused
cgroups/                  cgroups of pods, QoS tiers and the host's reserved parts
resizes/                  resizes of pods in place, and the records of what pods are allocated
context.py                what the parts share: actor, agent, node resources, warnings
node_resources.py         capacity and allocatable of the node
topology/                 the topology manager: aligns CPUs, memory and devices of a container, or of a pod
cpu/                      the CPU manager: CPUs of their own for containers of Guaranteed pods that ask for whole CPUs
memory/                   the memory manager: memory and huge pages of chosen NUMA nodes for containers
hardware_setup.py         makes the managers of devices, CPUs and memory
hardware_start.py         the initial state of the managers of CPUs and memory: machine, configuration, state files
state_store.py            a value in memory, and the state file that outlives this process
periodic_tasks.py         each minute: systemCgroups, and the chains of iptables (utility_chains.py)
user_namespaces.py        gives each pod with a user namespace IDs of its own (KEP-127)
"""
