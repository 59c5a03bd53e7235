"""Volumes of storage drivers (CSI): registration of drivers, and the calls to them on this node."""
