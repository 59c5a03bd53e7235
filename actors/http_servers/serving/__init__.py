"""How a request is taken: limits on connections, the base of all handlers, routes, metrics and spans."""
