"""Runs the pods of the node: each shard has the pods whose UID hashes to it. The modules:

actor.py              the shard: receives messages, and passes them to its pod workers
messages.py           the messages to a shard
declaration.py        the configuration that a shard reads, and its feeders
worker_table.py       the pod workers of the shard: makes one for each pod
inventory.py          pods without a pod worker, and whether all sources have reported
inventory_reports.py  reports the pods that may have resources on the node
quarantine.py         pods in quarantine, because their shard died three times while it handled them
maintenance.py        the periodic work: log rotation, removal of logs, the node's limit of dead containers
overdue_kills.py      reports a pod that still runs long after its grace period, though the node has ordered its end
kubernetes_events.py  the Kubernetes events of a pod
errors.py             errors of a container's start

pod/         the state of one pod, the table of its phases, the reports about it to other actors
phases/      the next step of a pod: one module for each phase; the actions for sandbox and containers; the plan of a
             termination
executor/    performs the steps: one pod worker for each pod, which asks other actors and calls the runtime
containers/  the configuration of sandboxes and containers: environment, mounts, security, resources, DNS
garbage/     the removal of dead containers
logs/        the rotation of container logs, and the removal of logs without a pod
"""
