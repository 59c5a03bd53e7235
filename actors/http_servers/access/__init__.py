"""Authentication and authorization of the node server's callers."""
