"""The program around the tree: the command line, what a start checks and does, run-once and the demo."""
