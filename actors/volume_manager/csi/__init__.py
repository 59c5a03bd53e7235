"""Volumes of storage drivers (CSI): how drivers are found, and what they are asked on this node."""
