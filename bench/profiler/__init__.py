"""Cost of a profile for the requests of the profiled server."""
