"""TLS of the node server: versions, cipher suites, key exchange groups, client certificates."""
