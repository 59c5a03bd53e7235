"""Evicts pods before the node runs out of memory, disk or process IDs. The modules:

actor.py             the rounds: observe, decide, clean up, evict; round_timer.py: when the next one takes place
thresholds.py        which thresholds are met, which conditions hold; resources.py: signals, resources and conditions
eviction_signals.py  reads the eviction signals
pressure_report.py   tells `supervise status` the conditions and what they follow from
memory_notices.py    the kernel's notifications that memory runs short
usage.py             the usage of a pod; usage_reader.py reads it, writable_layers.py asks the runtime
ranking.py           which pod is evicted first; explanation.py: the message of an eviction
local_storage.py     limits of emptyDir volumes and ephemeral storage; limit_check.py measures the pods that have one
shared_disks.py      measures the disk usage of pods once, for their limits and for the stats pages
pod_evictions.py     evictions in progress: saved in a file, ordered again until the pod has ended
oom_watcher.py       reports processes that the OOM killer killed (kernel_log.py)
node_cleanup.py      removes dead containers and unused images before any pod is evicted
node_observer.py     observes the eviction signals
victims.py           selects the pods to evict and writes the reason of their eviction
"""
