"""`supervise doctor`: checks everything that keeps the node from Ready or a pod from Running.

Each `..._checks` module checks one subject and returns findings. `command` runs the checks one after the other, shows
each finding with the command that mends it, and sets the exit code. An exception in a check becomes a finding.

agent_checks.py        the agent itself: its tree, its pods, its manifests
arguments.py           the arguments of `doctor`
certificate_checks.py  certificates on the disk
cluster_checks.py      the API server: connection, version, clock; with the typed client of the `kubernetes` package
command.py             runs the checks and shows their findings
disk_checks.py         the file systems of pods, images and writable layers
dns_checks.py          the DNS servers that pods get, and whether they answer
finding.py             the result of a check
host_checks.py         kernel, cgroups, swap, ports, static pods
node_checks.py         this node at the API server: its identity, its Node object, its Lease
permissions.py         the permissions that the node needs at the API server
pod_causes.py          why a pod does not run, from its status and its events
pod_remedies.py        what mends a pod, by the reason that the agent or the runtime gives
runtime_checks.py      the container runtime and its network
shared_runtime.py      other agents of this host on the same container runtime
valid_part.py          the agent that the valid part of a command line describes
"""
