"""`supervise demo`, which is what `make run` runs: a node on this machine with a sample pod, gone when it is stopped.

No actor: it starts the agent as anybody would, in a process of its own, and watches it from outside.
"""
