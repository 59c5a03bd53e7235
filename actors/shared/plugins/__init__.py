"""Plugins of a node that register by a socket in the directory plugins_registry: storage, devices, resource claims.

identity.py              what the plugin at a registration socket has said of itself, for those who wait for it
model.py                 a plugin as it describes itself, and the interface of an actor that serves a type of plugin
registration_permits.py  permits for concurrent registrations, with some for slow sockets
registrar.py             the calls to the registration socket (gRPC, imported with the first socket)
sockets.py               the present registration sockets
watch.py                 registers sockets that come, deregisters those that go
"""
