"""Images: pulled when a container needs them, removed when the disk does."""
