"""The rows, by topic."""
