"""The servers, each an actor of its own. Where is what:

- node_server.py: :10250 over TLS, and the read-only server of :10255
- healthz_server.py: 127.0.0.1:10248, which asks no other actor
- pod_resources_server.py: gRPC for monitors of the node, on a Unix socket
- endpoints/: one module for each path of the HTTP API: who may ask, which server answers, how
- serving/: how a request is taken: limits on connections, the base of all handlers, routes, health checks
- tls/: versions, cipher suites, curves; who shows which client certificate
- access/: authentication and authorization
- exposition/: Prometheus text, and the metrics of all actors as one page
- usage/: figures of the node and its pods as summary and as metrics; actors/shared/stats reads them
- container_logs/: container logs: query, file, lines
- system_logs/: node logs: query, files below /var/log
- streaming/: exec, attach and port-forward: a caller's connection joined to one of the runtime
- pod_resources/: what pod_resources_server answers

To add an endpoint, write its module in endpoints/, and name it in endpoints/__init__.py.
"""
