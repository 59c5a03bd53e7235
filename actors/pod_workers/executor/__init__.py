"""Does what a pod needs: asks other actors, calls the runtime."""
