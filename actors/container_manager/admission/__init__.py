"""Admission of pods: which pods count on this node, and which are refused. The modules:

pod_admission.py       answers AdmitPod; the checks are in actors/shared/admission
running_pods.py        answers CountRunningPod: pods that were admitted before, without checks
resize_admission.py    answers ResizePod; decided in ../resizes
parts.py               the parts that the three have in common, as one value
candidate.py           reads the pod of a question; node_state.py: the node for the checks
admission_gate.py      holds a pod back until the other actors' reports are there
startup_hold.py        after a restart, new pods wait for the running ones
eviction_admission.py  the eviction manager's report: pressure conditions, and pods that are evicted
shutdown_admission.py  the shutdown manager's report
counted_pods.py        enters, withdraws and releases pods, with their cgroups and records
ledger.py              the demands of the pods that are counted
pending_admissions.py  the questions that are not answered yet
preemption.py          makes room for critical pods
"""
