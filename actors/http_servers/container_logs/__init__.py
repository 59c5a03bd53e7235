"""Container logs as the runtime writes them, read as `kubectl logs` wants them."""
