"""The status of each container of a pod. Pure.

| module | purpose |
|---|---|
| container_status, container_status_input | the statuses of all containers of a pod, and what they are computed from |
| container_states | the state and the last state of a container |
| lost_containers | which containers count as failed whose end was not observed |
| container_resources | the resources that the runtime has applied |
| claim_health | the health of a container's devices, from resource claims and plugins |
"""
