"""`supervise reset`: removes what an agent left on its host, and nothing that may belong to others.

Certainly its own is: what lies below its state directory, what its managed containerd runs, the pods whose UID has a
directory below its root directory, and directories that its first start made
(`actors.shared.config.start.start_records`).

arguments.py       the arguments of `reset`
cgroups.py         finds the cgroups of an agent, and what keeps them from being removed
command.py         shows what it found, asks, removes it, and shows what remains
host_resources.py  finds everything of an agent on its host
removal.py         removes it
runtime_pods.py    the pods in runtimes that are not managed
scope.py           the starts of an agent that a reset covers, and what these made
"""
