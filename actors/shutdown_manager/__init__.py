"""Ends the pods in good order when the node is shut down (KEP-2000, KEP-2712)."""
