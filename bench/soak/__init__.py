"""Runs the soak test of coroutines with databases."""
