"""The one error that ends a command with a message instead of a traceback."""


class BenchError(Exception):
    """An error that the user can fix; the message explains how."""
