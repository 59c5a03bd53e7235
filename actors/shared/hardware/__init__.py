"""What the managers of CPUs, memory and devices say to each other and to the pod workers."""
