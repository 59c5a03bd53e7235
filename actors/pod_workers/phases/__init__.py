"""The phases of a pod's life: each decides the next step. Pure."""
