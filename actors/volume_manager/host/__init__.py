"""System calls of volumes; those that may hang run in disposable processes, and take and give plain data only."""
