"""The engine: a supervised tree of Thespian actors, each in a process of its own, on Unix sockets.

It knows nothing of Kubernetes and imports nothing of ours. `actor.py` is the base class of actors, `spec.py` has the
child specs, `protocol.py` the messages between fork server, supervisors and command line."""

__project__ = "troupelet"
