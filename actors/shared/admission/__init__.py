"""Admission: whether a pod may run on this node. Pure.

`request.py` has a check's input, its answer and its declaration; `checks/` has the checks, one module each.
"""
