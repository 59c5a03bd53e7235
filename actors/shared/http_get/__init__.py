"""The HTTP GET of probes and hooks: without proxy, keep-alive and certificate verification, with Go's error texts.

dialer.py         connections, with Go's error texts
exchange.py       one request and its response
lookups.py        addresses of host names, each looked up in a thread of its own
redirects.py      requests until one leads nowhere else
response_body.py  the start of a body
trust.py          whom this host trusts
"""
