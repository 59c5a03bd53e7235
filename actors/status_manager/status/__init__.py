"""The status of a pod. Pure.

| module | purpose |
|---|---|
| pod_status, pod_status_input | the whole status, and what it is computed from |
| phase, expected_phase | the phase by the containers' statuses; the one that is certain, and the one that is reported |
| pod_conditions, conditions, resize_conditions | all conditions, with their times; the node's own; those of a resize |
| pod_addresses | the addresses of the pod and of its node |
| pod_resources | the resources of the pod as a whole |
"""
