"""The container runtime interface (CRI v1): the client, and the runtime's answers as small values.

adoption.py            creates a sandbox or container, or adopts the result of an earlier create with the same name
calls_in_progress.py   the slow calls of a task, and of the tasks that it starts
checked_answers.py     checks names, IDs and counts in the runtime's answers
cdi.py                 whether a runtime ignores CDI names (Container Device Interface), which CRI does not report
cni_config.py          reads the pods' networks from a CNI configuration list
client.py              the CRI client: a typed coroutine with a deadline for each call
container_records.py   whether containerd has a record of a container, by its own API
container_calls.py     the runtime service's calls for containers
conversion.py          converts the runtime's answers to the values of model.py
crash_loop.py          the crash-loop backoff: when a container may be started again
deadlines.py           the deadline of each call in seconds, as in the kubelet
endpoint.py            runtime endpoints, as given to --container-runtime-endpoint: the path of a Unix socket
errors.py              the errors of CRI calls
forgotten_shims.py     shims of an external containerd that it can no longer reach
image_calls.py         the image service's calls
leaked_addresses.py    addresses of sandboxes that are gone, and their release
leaked_shims.py        shims of containerd that belong to no sandbox, and their removal
leftover_tasks.py      ends tasks that a cancelled StartContainer leaves in containerd
liveness.py            whether a container runtime answers: the CRI call Version, without a gRPC library
measured_transport.py  counts the calls to a runtime and their time, as kubelet_runtime_operations_*
methods.py             the methods of CRI v1: the path and the types of each
model.py               sandboxes, containers and images of the runtime, as immutable values for messages
next_instance.py       whether an ended instance of a container is followed by another one
output_transport.py    the transport of ExecSync, which reads one answer at a time
node_listing.py        lists all sandboxes and containers again and again, and decodes only what changed
pod_lookup.py          reads the sandboxes and containers of one pod from the runtime
program_log.py         what the log of a managed containerd says of its end and of its CRI plug-in
program_names.py       refuses programs whose name is longer than any path
sandbox_calls.py       the runtime service's calls for sandboxes
shims.py               the shims of a containerd, found by their command lines
reachability.py        whether a program listens on the socket of a container runtime
removed_space.py       has containerd free the space of what was removed, by its own API
remedies.py            what mends a container runtime or a pod network that does not work
service_outage.py      reports a container runtime or image service that does not answer in `supervise status`
stats.py               resource usage of containers and the image store, measured by the runtime
stats_calls.py         the calls for statistics of containers; statistics of sandboxes come from cgroups
stats_conversion.py    converts the runtime's statistics to the values of stats.py
transport.py           transports CRI calls to a runtime: gRPC over a Unix socket
watched_transport.py   a transport whose calls are known to the CallsInProgress of their task
"""
