"""The `supervise` subcommands for a running agent: all except `start`, which the application provides.

They ask the fork server, which answers without asking any actor: they work while actors are hung or the root is dead.
Nothing heavy is imported here.
"""
