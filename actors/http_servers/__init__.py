"""The servers, one actor each.

- node_server.py: :10250 over TLS, and the read-only server of :10255
- healthz_server.py: 127.0.0.1:10248, which asks no other actor
- pod_resources_server.py: the pod resources API, gRPC on a Unix socket
- pods_server.py: the pods API, gRPC on a Unix socket (gate PodsAPI)
- endpoints/: one module for each path of the HTTP API: permission, server, answer
- serving/: ports, limits on connections, the base class of handlers, routes, health checks
- tls/: versions, cipher suites, curves; client certificates
- access/: authentication and authorization
- exposition/: Prometheus text, and the metrics of all actors as one page
- usage/: usage of the node and its pods as summary and as metrics; actors/shared/stats reads the figures
- profiling/: profiles of the server's own process
- container_logs/: container logs: query, file, lines
- system_logs/: node logs: query, files below /var/log
- streaming/: exec, attach and port-forward: a proxy between caller and runtime
- pod_resources/: the answers of pod_resources_server
- pods_api/: the answers of pods_server, pods in protobuf

To add an endpoint, write its module in endpoints/, and name it in endpoints/__init__.py.
"""
