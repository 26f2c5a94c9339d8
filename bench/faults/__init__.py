"""Measures what a fault costs the requests beside it."""
