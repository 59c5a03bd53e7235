"""How a sandbox and a container are made of what a pod says."""
