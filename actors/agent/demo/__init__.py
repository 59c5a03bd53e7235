"""`supervise demo`, run by `make run`: a node on this machine with a sample pod, removed when it is stopped.

It is not an actor: it starts the agent like any user, in a process of its own, and watches it from outside.
"""
