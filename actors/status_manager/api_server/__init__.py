"""The API server: brings it up to date, pod by pod.

| module | purpose |
|---|---|
| api_sync | takes over what the server's watch reports; looks for pods that differ |
| steps | the next step for a pod: write its status, delete it, create its mirror, or none (pure) |
| backlog | the pods that wait, and their order |
| writer | when each step is performed |
| api_calls | performs one step |
| stuck_pods | pods that do not end in time (pure) |
| start_latency | how long pods take from the server's report until they run |
"""
