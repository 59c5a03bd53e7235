"""Pages for whoever looks into a node. Each is loaded by its first request."""
