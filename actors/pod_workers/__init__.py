"""Runs the pods of the node: each shard has the pods whose UID hashes to it. The modules:

actor.py              the shard: what it is told, handed on to its pods
messages.py           what a shard is told
declaration.py        what configuration it reads, who feeds it
inventory.py          which pods of the shard may have anything on the node
quarantine.py         pods that ended their shard three times, and are left alone
kubernetes_events.py  events that users see of a pod
errors.py             why a container is not started

pod/          what is known of one pod, the phases of its life, what other actors are told of it
phases/       what is done next: one module a phase; what sandbox and containers need; how they are stopped
executor/     does it: one pod worker a pod, which asks other actors and calls the runtime
containers/   how a sandbox and a container are made: CRI config, environment, mounts, security, resources, DNS
garbage/      which dead containers are removed
logs/         rotation of containers' logs, removal of logs that belong to no pod
overdue_kills.py      tells users of a pod that the node has ordered to end, and that still runs long after its grace
"""
