"""exec, attach and port-forward: a caller's connection, joined to one of the runtime's streaming server."""
