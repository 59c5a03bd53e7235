"""Addresses of the servers. Their messages are in the `messages.py` of the senders."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName

NODE_SERVER: Final = ActorName("http_servers/node_server")
READ_ONLY_SERVER: Final = ActorName("http_servers/read_only_server")
HEALTHZ_SERVER: Final = ActorName("http_servers/healthz_server")
PODS_SERVER: Final = ActorName("http_servers/pods_server")
POD_RESOURCES_SERVER: Final = ActorName("http_servers/pod_resources_server")
