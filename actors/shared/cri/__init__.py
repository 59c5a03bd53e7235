"""The container runtime interface (CRI v1): what the runtime says, as small values, and the client that asks it."""
