"""Admission: whether a pod may run on this node. Pure.

`request.py` has a check's input and its answer; `checks.py` has the list of checks, in the kubelet's order. A check of
more than a few lines has its own module.
"""
