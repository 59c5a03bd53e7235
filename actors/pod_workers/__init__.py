"""Runs the pods of the node: each shard has the pods whose UID hashes to it. The modules:

actor.py              the shard: receives messages, and passes them to its pods
messages.py           the messages to a shard
declaration.py        the configuration that a shard reads, and its feeders
inventory.py          the pods of the shard that may have resources on the node
quarantine.py         pods in quarantine, because their shard died of them three times
kubernetes_events.py  the Kubernetes events of a pod
errors.py             errors of a container's start

pod/          the state of one pod, the table of its phases, the reports about it to other actors phases/       the next
step of a pod: one module for each phase; the actions for sandbox and containers; the termination plan executor/
performs the steps: one pod worker for each pod, which asks other actors and calls the runtime containers/   the
configuration of sandboxes and containers: environment, mounts, security, resources, DNS garbage/      the removal of
dead containers logs/         the rotation of container logs, and the removal of logs without a pod overdue_kills.py
reports a pod that still runs long after its grace period, though the node has ordered its end
"""
