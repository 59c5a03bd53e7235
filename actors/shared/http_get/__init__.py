"""The HTTP GET of probes and hooks: without proxy, keep-alive and certificate verification, with Go's error texts."""
