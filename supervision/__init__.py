"""The engine: a supervised tree of Thespian actors, each in a process of its own, on Unix sockets.

It knows nothing of Kubernetes and imports nothing of ours. Read `actor.py` for how an actor is written, `spec.py` for
what a supervisor is told of its children, `protocol.py` for what the fork server, the supervisors and the command line
say to each other."""

__project__ = "troupelet"
