"""The container runtime interface (CRI v1): the client, and the runtime's answers as small values."""
