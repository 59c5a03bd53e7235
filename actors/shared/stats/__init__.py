"""What the node, its pods and containers use: CPU, memory, disks, network. Read on demand, and kept for a while."""
