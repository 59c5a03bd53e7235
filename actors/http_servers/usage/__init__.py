"""Pages that say what the node, its pods and their containers use. Loaded by the first request."""
