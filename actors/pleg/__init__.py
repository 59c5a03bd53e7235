"""The pod lifecycle event generator: what changed in the runtime, told to the pods' workers."""
