"""The topology manager: aligns CPUs, memory and devices of a container, or of a pod, to NUMA nodes."""
