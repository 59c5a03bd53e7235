"""The pod lifecycle event generator: sends each worker the pods that have changed in the runtime.

| module | purpose |
|---|---|
| actor | messages in and out, the relist each second, the runtime's events |
| events | the pod lifecycle events between two listings (pure) |
| runtime_view | the known state of the runtime's pods, as one immutable value (pure) |
| status_calls | status calls for single pods |
| health_check, runtime_health | asks whether the runtime and its network are ready; what its answers mean (pure) |
| runtime_repairs | handles containers that the runtime does not list, hung starts, leaked shims |
| forgotten_shims | ends shims that an external runtime cannot reach any more |
| network_repairs | restores missing configuration files of a managed runtime |
| pod_network | the pods' network, for the runtime's CNI configuration |
| hanging_starts | starts that never end inside the runtime |
| runtime_restarts | restarts of a runtime that does not list containers which run |
"""
