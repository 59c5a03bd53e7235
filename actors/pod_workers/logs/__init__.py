"""Logs of containers on the disk: rotation, and removal of those that belong to no pod."""
