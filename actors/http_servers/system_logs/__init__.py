"""/logs/: the host's own logs, as files, and by unit where that is configured."""
