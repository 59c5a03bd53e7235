"""The API status of each pod: computed from what its worker and the prober report, written to the API server.

Each package uses those above it, never those below.

| module | purpose |
|---|---|
| messages, declaration, actor | its messages; what it is to the others; messages in and out |
| times | clocks, and times as the API writes them (RFC 3339, in UTC, whole seconds) |
| containers/ | the status of each container of a pod (pure) |
| status/ | the status of a pod: phase, conditions, addresses, resources (pure) |
| pods/ | each pod as an immutable value, the API copy, and how the two differ |
| readiness/ | whether each container is started and ready, also after a restart of the whole agent |
| api_server/ | which pod is written when, what is written, and the calls |
| reports/ | facts about pods for other actors, events and metrics |
| device_reports, node_facts | reports of the device manager; facts of the Node object |
"""
