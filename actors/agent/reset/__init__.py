"""`supervise reset`: takes away what an agent has on its host, and nothing that is not surely its own.

Surely its own is: what lies below its state directory, what its managed containerd runs, the pods whose UID has a
directory below its root directory, and directories that its first start made (`actors.shared.config.start.places`).
"""
