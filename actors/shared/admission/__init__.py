"""Admission: whether a pod may run on this node. Pure.

`request.py` holds what a check is given and what it answers; `checks.py` holds the one list of checks, in the
reference's order. A check that is more than a few lines has a module of its own beside it.
"""
