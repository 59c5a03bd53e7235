"""Devices of the node: device plugins register here, and drivers of resource claims.

- messages, declaration, actor: to the other actors
"""
