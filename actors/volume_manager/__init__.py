"""Volumes of pods on this node: made, mounted, found again after a restart, removed."""
