"""Garbage collection of dead containers."""
