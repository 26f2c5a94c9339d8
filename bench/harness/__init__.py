"""Measurements and reports; `cli` is the entry point."""
