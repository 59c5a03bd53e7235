"""`supervise reset`: removes what an agent has left on its host, and only what is certainly its own.

Certainly its own is: what lies below its state directory, what its managed containerd runs, the pods whose UID has a
directory below its root directory, and directories that its first start made
(`actors.shared.config.start.start_records`).
"""
