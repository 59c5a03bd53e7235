"""The API status of each pod: computed from what its worker and the prober report, written to the API server.

| module | purpose |
|---|---|
| actor | messages in and out |
| tracked_pod, pod_table | one pod as an immutable value; the table of all pods and the API copy |
| pod_status, pod_status_input, pod_resources, pod_addresses | the status of a pod, its resources and addresses (pure) |
| phase, expected_phase, pod_conditions, conditions, resize_conditions | its phase and conditions (pure) |
| container_status, container_status_input, container_resources | the status of each container (pure) |
| container_states, lost_containers | the state and last state of each container (pure) |
| readiness | whether each container is ready (pure) |
| readiness_file, readiness_saver | the file that keeps this over a restart, and when it is written |
| api_pods, api_sync | the copy of the API server's pods, and its updates |
| steps, patch, mirror | the next write for a pod, and its content (pure) |
| backlog, writer, api_calls | which pod is written when, and the calls |
| stuck_pods | pods that do not end in time (pure) |
| live_pods, pod_list, probe_addresses, pod_metrics, start_latency | facts about pods for other actors and metrics |
| address_family | the event of a pod whose node has an address of another IP family than before |
| claim_health | the health of a container's devices, from resource claims and plugins |
| device_reports, node_facts | reports of the device manager; facts of the Node object |
| times | clocks, and times as the API writes them (RFC 3339, in UTC, whole seconds) |
| served_pods | sends pods_server, if it exists (gate PodsAPI), each pod with its status |
"""
