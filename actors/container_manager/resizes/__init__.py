"""Resizes of pods in place (KEP-1287), and the records of allocated resources. The modules:

pod_resizes.py           decides resizes of the pods that are counted, and tries waiting ones again
resize_queue.py          the resizes that wait for room, in the order in which they get it
resize_rules.py          the resizes that are infeasible on this node
pod_resource_records.py  keeps the records of allocated and actuated resources
earlier_records.py       takes over the records of versions before 0.3
"""
