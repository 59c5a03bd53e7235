"""Cgroups, QoS, node allocatable and the admission ledger: who may run on this node, and inside what limits."""
