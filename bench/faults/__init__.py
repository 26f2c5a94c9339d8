"""Measures the effect of a fault on concurrent requests."""
