"""Facts about pods for other actors, events and metrics.

| module | purpose |
|---|---|
| first_reports | holds questions while a new incarnation does not know the pods yet |
| live_pods | for the eviction and the shutdown manager: which pods can be terminated, in which order |
| pod_list | for the servers: all pods and their statuses, as answers |
| pages | answers about all pods come in pages |
| pods_to_evict | the part of a pod that the eviction manager reads |
| served_pods | for pods_server, if it exists (gate PodsAPI): each pod on change |
| probe_addresses | for the prober: where a pod is probed |
| address_family | the event of a pod whose node has an address of another IP family than before |
| pod_metrics | metrics of pods and containers |
"""
