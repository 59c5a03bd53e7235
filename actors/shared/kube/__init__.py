"""Typed objects of the Kubernetes API, as far as a node agent reads and writes them. Imports nothing of ours."""
