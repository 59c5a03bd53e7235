"""The configuration of sandboxes and containers, computed from the pod.

allocation.py        the resources allocated to a pod
api_objects.py       Secrets, config maps, services and runtime classes that a pod's containers need
apparmor.py          whether the kernel has AppArmor
container_config.py  the ContainerConfig of CRI
dns.py               resolv.conf and /etc/hosts of pods
env_files.py         variables from a file that another container of the pod wrote (KEP-3721)
environment.py       a container's environment: services, objects of the API, literal values, `$(NAME)`
files.py             files that a pod's containers need on the host: log directory and links, /etc/hosts
host_ips.py          the addresses of this node for status.hostIPs of pods
machine.py           the facts about this machine for the configuration of containers, read once
memory_qos.py        MemoryQoS (KEP-2570): when the kernel throttles a container, and the memory that it never reclaims
mounts.py            the CRI mounts of a container
names.py             names and paths that the runtime, log collectors and later incarnations rely on
resources.py         CPU and memory of a container for the runtime (the kubelet's formulas; KEP-753 for sidecars)
sandbox_config.py    the PodSandboxConfig of CRI
security.py          security contexts for the runtime
service_links.py     services in the environment of a container (API doc, Service, "Environment variables")
spec_hash.py         the hash that shows whether a container's spec has changed
swap.py              the swap limit of a container (KEP-2400)
user_namespaces.py   user namespaces of pods, for the runtime (KEP-127)
"""
