"""exec, attach and port-forward: a proxy between the caller and the runtime's streaming server.

joined_streams.py     copies between a caller and a runtime in both directions, at the speed of the slower one
options.py            the query parameters of exec, attach and port-forward
runtime_stream.py     the connection to a runtime's streaming server
spdy.py               frames of SPDY/3.1, as a client of a runtime's streaming server needs them
stream.py             serves a stream: finds the container, asks the runtime for a URL
stream_translator.py  a caller with a WebSocket, and a runtime that speaks SPDY, as the kubelet has it
upstream.py           connects to the runtime's streaming server with the caller's request
websocket.py          frames of a WebSocket (RFC 6455), as a server reads and writes them
"""
