"""The servers, each an actor of its own. Where is what:

node_server.py           :10250 over TLS, and the read-only server of :10255
healthz_server.py        127.0.0.1:10248, which asks no other actor
pod_resources_server.py  gRPC for monitors of the node, on a Unix socket

serving/         how a request is taken: limits on connections, the base of all handlers, the routes
tls/             versions, cipher suites, curves; who shows which client certificate
access/          authentication and authorization
exposition/      Prometheus text, and the metrics of all actors as one page
usage/           /stats/summary, /metrics/resource, /metrics/cadvisor: what the node and its pods use
container_logs/  /containerLogs
system_logs/     /logs
streaming/       /exec, /attach, /portForward, /run
debugging/       /runningpods, /debug, /checkpoint, /flagz, /statusz, /metrics/probes, /metrics/slis
pod_resources/   what pod_resources_server answers
"""
