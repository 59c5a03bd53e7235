"""What the node, its pods and their containers use. Measured when somebody asks, and loaded by the first who does."""
