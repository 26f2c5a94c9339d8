"""The one error that ends a command with a message instead of a traceback."""


class BenchError(Exception):
    """Something that the person at the keyboard can put right; the message says how."""
