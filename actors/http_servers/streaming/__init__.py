"""exec, attach and port-forward: a proxy between the caller and the runtime's streaming server.

caller_frames.py      a caller's frames of SPDY, checked before the runtime's server gets them
joined_streams.py     copies between a caller and a runtime in both directions, at the speed of the slower one
lost_status.py        the status of a command of which nobody knows how it ended
options.py            the query parameters of exec, attach and port-forward
passed_status.py      sees on a SPDY connection whether the runtime has told how the command ended
runtime_stream.py     the connection to a runtime's streaming server
spdy.py               frames of SPDY/3.1, for a client of a runtime's streaming server
stream.py             serves a stream: finds the container, asks the runtime for a URL
stream_translator.py  translates a caller's WebSocket to the SPDY of the runtime, as in the kubelet
upstream.py           connects to the runtime's streaming server with the caller's request
websocket.py          frames of a WebSocket (RFC 6455), for a server
"""
