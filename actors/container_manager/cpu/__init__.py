"""The CPU manager: exclusive CPUs for containers of Guaranteed pods that request whole CPUs.

distribution.py    distributes CPUs evenly across NUMA nodes (distribute-cpus-across-numa)
earlier_state.py   cpu_manager_state as kubelets before 1.18 wrote it: its entries name containers by their ids alone
hint_provider.py   the hint provider of CPUs: records the exclusive CPUs of each container
options.py         the options of the static policy, and which exclude each other
packing.py         picks a number of CPUs as close together as possible
reconciliation.py  keeps running containers on their CPUs
requests.py        the number of exclusive CPUs of a pod's containers
state.py           the CPUs of each container, and the file that keeps them: cpu_manager_state of the kubelet
static_policy.py   the static policy: which CPUs a container gets
"""
