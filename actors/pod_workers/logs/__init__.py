"""Container logs on disk: rotation, and removal of orphaned logs."""
