"""The program around the tree: the command line, the start and its checks, run-once and the demo."""
