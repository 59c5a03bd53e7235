"""The container runtime interface (CRI v1): what the runtime says, as small typed values, and the client that asks it."""
