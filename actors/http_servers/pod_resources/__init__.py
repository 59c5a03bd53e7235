"""The pod resources API: which pods hold which resources."""
