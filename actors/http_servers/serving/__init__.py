"""Ports, limits on connections, the base class of handlers, routes, health checks, request metrics and spans."""
