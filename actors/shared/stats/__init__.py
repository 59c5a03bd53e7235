"""Usage of the node, its pods and containers: CPU, memory, disks, network. Read on demand and cached for a while."""
