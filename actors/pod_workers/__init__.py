"""Drives pods: one state machine a pod, `n` workers, each with the pods whose UID hashes to it."""
