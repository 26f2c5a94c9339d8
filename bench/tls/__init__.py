"""Many TLS connections: what an idle one costs, and how active ones fare beside them."""
