"""`supervise doctor`: checks everything that keeps the node from Ready or a pod from Running.

Each module checks one subject and answers with findings; `command` runs them one after the other, shows each with the
command that mends it, and sets the exit code. An exception in a check becomes that check's finding.

`finding` what a check answers; `agent_checks` the agent itself and its manifests; `host_checks` kernel, cgroups, swap,
disk, ports, DNS; `runtime_checks` the container runtime and its network; `certificate_checks` certificates on the disk;
`cluster_checks` the API server, by the typed client of the `kubernetes` package.

arguments.py   the arguments of `doctor`
permissions.py the permissions that the node needs at the API server
pod_causes.py  why a pod does not run, from its status and its events
pod_remedies.py what mends a pod, by the reason that the agent or the runtime gives
"""
