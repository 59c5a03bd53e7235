"""The configuration of sandboxes and containers, computed from the pod."""
