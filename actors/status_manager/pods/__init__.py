"""The pods: each as its worker reports it, and as the API server has it.

| module | purpose |
|---|---|
| tracked_pod | a pod as the workers report it: an immutable value |
| api_pods | the API copy: the pods of this node as the API server has them |
| pod_table | all pods, of both kinds |
| mirror | mirror pods: their content, and whose mirror a pod is (pure) |
| patch | the fields of a status that differ from the API copy (pure) |
"""
