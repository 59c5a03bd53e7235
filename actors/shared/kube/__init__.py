"""Typed objects of the Kubernetes API: the parts that a node agent reads and writes. Imports no other package of the
agent."""
