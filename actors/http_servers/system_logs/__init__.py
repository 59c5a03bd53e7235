"""/logs/: the host's logs, as files, and by service where that is configured."""
