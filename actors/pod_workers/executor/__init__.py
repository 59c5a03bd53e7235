"""Performs the effects: asks other actors and calls the runtime."""
