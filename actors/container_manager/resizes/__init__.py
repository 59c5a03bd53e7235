"""Resizes of pods in place (KEP-1287), and the records of what pods are allocated. The modules:

pod_resizes.py           decides resizes of the pods that are counted, and tries waiting ones again
resize_queue.py          the resizes that wait for room, in the order in which they get it
resize_rules.py          which resizes this node never carries out, whatever room there is
pod_resource_records.py  keeps the records of what pods are allocated and what the runtime has actuated
earlier_records.py       takes over the records of versions before 0.3
"""
