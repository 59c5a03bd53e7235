"""Code that several actors share; nothing here imports an actor.

admission/           admission: whether a pod may run on this node
api/                 how to reach an API server: kubeconfig, credentials, connections, requests, watches
clock_jumps.py       by how much the wall clock was set
config/              the configuration of the agent: how it is read, merged and validated
cri/                 the container runtime interface (CRI v1): the client, and the runtime's answers as small values
declaration.py       an actor's declaration: the tree and every table about actors are derived from it
fnv.py               FNV-1a, the hash of the kubelet's checksums and UIDs
grpc_server.py       a gRPC server on a Unix socket
grpc_threads.py      room for the threads of gRPC's library, looked for before it starts them
hardware/            the values that the managers of CPUs, memory and devices exchange, also with the pod workers
http_get/            the HTTP GET of probes and hooks: without proxy, keep-alive and certificate verification
input_quarantine.py  quarantines pods and images whose work ended an actor three times
keyed_locks.py       locks by key: one operation for a pod, a claim or a device at a time
kube/                typed objects of the Kubernetes API: the parts that a node agent reads and writes
lists_in_parts.py    lists that are too large for one message, in parts
linux/               Linux interfaces that Python lacks: mount, openat2, mountinfo, cgroup files
metrics/             every metric of the agent: name, type, HELP, labels, buckets
pacing.py            splits long loops over users' data, so that the actor's loop serves other work in between
plugins/             plugins that register by a socket in the directory plugins_registry: storage, devices
pod_inventory.py     the pod inventory: the pods of all shards, from their ShardPods
pod_records.py       the kubelet's records of pods' resources: `allocated_pods_state` and `actuated_pods_state`
relay.py             a Unix socket that starts its gRPC server for the first client
repeated_save.py     saves a file that is written on a change only, again until it is written
restore_error.py     the error of a start with an unusable state file, in the kubelet's words
state_files.py       the files of the node's state, with copies from which a restarted actor continues
stats/               usage of the node, its pods and containers: CPU, memory, disks, network
steady_clock.py      a clock that goes on evenly when the wall clock is set
token_bucket.py      the token bucket: a rate limit with a burst
tracing/             tracing spans and their export to a collector (KubeletConfiguration.tracing)
"""
