"""Many TLS connections: cost of an idle one, and speed of active ones at the same time."""
