"""Evicts pods before the node runs out of memory, disk or process IDs. Where is what:

actor.py              the rounds: observe, decide, clean up, evict
thresholds.py         which thresholds are met, which conditions hold; resources.py: signals and what they stand for
signals.py            reads what the node has left
memory_notices.py     notices of the kernel that memory runs short
usage.py              what a pod uses; usage_reader.py reads it
ranking.py            who is evicted first; explanation.py: what people read of it
local_storage.py      limits of emptyDir volumes and ephemeral storage
ending_pods.py        remembers who is evicted, and orders it until it is done
oom_watcher.py        tells whom the kernel killed as memory ran out (kernel_log.py)
node_cleanup.py       dead containers and unused images go before any pod
"""
