"""Performs the effects: asks other actors and calls the runtime.

admission.py           admission of a pod: asks the container manager, and then mounts the volumes
resource_claims.py     the resource claims of a pod: its devices by dynamic resource allocation
cleanup.py             cleans up after a pod: volumes, cgroup, dead containers, logs, its directory
container_parts.py     collects everything that a container is created from: environment, mounts, limits, security
container_starter.py   creates and starts sandboxes and containers: builds their configuration, calls the runtime
container_stops.py     stops containers over CRI, each after its preStop hook and in its turn
execution.py           the execution of effects for one pod: its state, which only events change
hanging_stops.py       kills containers that the runtime has not stopped by the deadline of the call
hardware.py            the CPUs, memory nodes and devices of a container that is about to be created
hooks.py               postStart and preStop: a command in the container, an HTTP request to it, or a pause
images.py              ensures a container's image, with the pull secrets of its pod
instance_marks.py      the progress of hooks and startup probes of a pod's containers, as marks in the pod's directory
kept_resources.py      the resources of pods that an earlier incarnation, or a kubelet, recorded
leftover_processes.py  kills what has ended for the runtime and runs on
performers.py          the function that performs each effect
permit.py              limits the concurrent pod starts of a shard
pod_processes.py       the processes in a pod's cgroup, also those that the runtime does not list
pod_worker.py          runs one pod from admission to cleanup: asks the phase for the next step, performs it
post_start.py          the postStart hook of a container: run after its start, or again after a crash
resize_check.py        before memory limits are lowered: whether the pod and its containers use less
resizing.py            in-place resize (KEP-1287): asks for resources, updates the pod's cgroup and containers
services.py            the services that all pod workers of a shard share
shard_metrics.py       metrics of a shard's pods: synchronizations, starts of sandboxes and containers
spans.py               tracing spans of a pod worker; names and attributes are the kubelet's
starts.py              starts sandboxes and containers of a pod
termination.py         stops the containers and sandboxes of a pod, and reports it
unlisted_pods.py       start and end of pods with running containers that the runtime does not list
unreadable_status.py   when an event says that the runtime does not report the state of a pod
user_ids.py            asks for the IDs of a pod with a user namespace
volumes.py             the volumes of a running pod
"""
