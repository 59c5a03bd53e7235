"""Plugins of a node that register by a socket in the directory plugins_registry: storage, devices, resource claims.

- sockets: the sockets that are there
- model: a plugin as it says it is, and what an actor that serves a type of plugin does with it
- registrar: the calls to the registration socket (gRPC, imported with the first socket)
- watch: registers sockets that come, deregisters those that go
"""
