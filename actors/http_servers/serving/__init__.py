"""How a request is taken: limits on connections, the base of all handlers, routes, health checks, metrics, spans."""
