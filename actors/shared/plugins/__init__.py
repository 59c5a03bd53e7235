"""Plugins of a node that register by a socket in the directory plugins_registry: storage, devices, resource claims.

- sockets: the present registration sockets
- model: a plugin as it describes itself, and the interface of an actor that serves a type of plugin
- places: places for concurrent registrations, with some for slow sockets
- registrar: the calls to the registration socket (gRPC, imported with the first socket)
- watch: registers sockets that come, deregisters those that go
"""
