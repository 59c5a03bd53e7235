"""exec, attach and port-forward: a proxy between the caller and the runtime's streaming server."""
