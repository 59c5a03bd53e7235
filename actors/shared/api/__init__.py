"""How to reach an API server: kubeconfig, credentials, connections, requests, watches. Knows no actor.

access.py              how to reach an API server and as which user: the resolved current context of a kubeconfig
client.py              calls of an API server, repeated once where that is safe, and watches of it
connections.py         two pools of connections to one server: for calls, and for watches
credentials.py         headers and client certificate of requests, and when to refresh them
disposable_loader.py   runs one request in `kubeconfig_process`
errors.py              the errors of an API server, by cause (Kubernetes API conventions, section on error codes)
exchange.py            one request and its response: its progress, its measurements and its answer; bounded
exec_plugin.py         credential plugins: a program that prints an ExecCredential
fields.py              reads plain data and collects every problem with its field, instead of raising the first
frames.py              splits a byte stream into frames, for watches in protobuf
key_pair.py            loads a client certificate and its key into a TLS context; why they cannot be used
kubeconfig.py          loads and writes kubeconfig files
kubeconfig_check.py    validates a kubeconfig and reports every problem with its field
kubeconfig_files.py    the files that a kubeconfig names: their paths, and the content of those with PEM
kubeconfig_process.py  the process in which the `kubernetes` package loads a kubeconfig or runs a credential plugin
lines.py               splits a byte stream into lines, for watches: one JSON document per line
media_types.py         what objects travel as, JSON or protobuf: requests are written last, answers read first
network.py             TCP and TLS streams for httpcore, on asyncio's own transports
object_names.py        names of objects in requests: pods name objects by any text, and it must stay one name
permission.py          repeats requests that the API server may refuse temporarily
plugin_metrics.py      the metrics of a credential plugin, as client-go has them: its runs
proxy.py               connections through a proxy: HTTP CONNECT (plain or TLS) and SOCKS5
reflector.py           follows one collection: a list, then watches, without end
remedies.py            what mends a connection to the API server that fails
tls.py                 the TLS context of connections to an API server
transport.py           sends requests to an API server: credentials, connections that match them, headers, spans
warmup.py              runs the first steps of an API request in the fork server, before the first fork
"""
