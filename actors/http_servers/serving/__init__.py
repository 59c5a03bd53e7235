"""Ports, limits on connections, the base class of handlers, routes, health checks, request metrics and spans.

api_socket.py         a gRPC API on a Unix socket of the node, started for its first client
client_faults.py      limits the log lines about malformed requests and failed handshakes
connections.py        limits on the connections of a server
endpoint.py           the declaration of an endpoint: its paths, permission, server, the configuration that it needs
handler.py            the base class of the handlers of the node server and the read-only server, on tornado
health_checks.py      the named health checks of the node server: ping, log, syncloop, device-plugin
http_error.py         the error that an endpoint raises
listening_sockets.py  listening sockets for a configured address
loop_turns.py         shares the turns of the server's loop among its streams
metrics_page.py       the answer of a page of metrics: in the Prometheus text format
paths.py              paths of requests as Go's ServeMux takes them
pods.py               looks up the pods that callers name, at the status manager
port.py               listens on a TCP port, and retries while it cannot
request_heads.py      reads the heads of requests, within limits that tornado does not have
request_metrics.py    kubelet_http_* metrics
request_spans.py      one span for each request that has access, until its answer or its stream has ended
routes.py             the routes of a server, derived from the endpoints and the configuration
server_state.py       the state that the endpoints of one server share
sync_loop.py          the health check `syncloop`: whether the pod workers run
z_page.py             the formats of /flagz and /statusz: text, and JSON when the Accept header asks for its kind
"""
