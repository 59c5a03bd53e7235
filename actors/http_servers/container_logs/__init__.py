"""Container logs: read from the runtime's files, filtered by the query of `kubectl logs`."""
