"""The HTTP GET of probes and hooks: without proxy, keep-alive and certificate verification, with Go's error texts.

chunks.py         the chunked coding of a body
dialer.py         connections, with Go's error texts
errors.py         the error of a GET
exchange.py       one request and its response
lookups.py        addresses of host names, each looked up in a separate thread
redirects.py      follows redirects on the same host
request.py        the request, with the headers of the manifest
response_body.py  the start of a body
response_bytes.py bytes that have arrived and are not read yet
response_head.py  the status line and the header of a response
target.py         the port and address that an HTTPGetAction names
trust.py          the TLS context with this host's trusted roots
url.py            URLs, read and written as by Go
"""
