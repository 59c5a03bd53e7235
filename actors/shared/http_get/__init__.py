"""A GET as probes and hooks make it: no proxy, no kept connection, certificates not verified, Go's words for errors."""
