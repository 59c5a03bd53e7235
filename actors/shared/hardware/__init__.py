"""The values that the managers of CPUs, memory and devices exchange, also with the pod workers."""
