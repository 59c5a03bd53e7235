"""The memory manager: memory and huge pages of chosen NUMA nodes for containers of Guaranteed pods."""
