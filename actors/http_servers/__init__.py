"""The servers: node (TLS), read-only, healthz, pod resources. Each is an actor of its own."""
