"""What is done next with a pod. Pure."""
