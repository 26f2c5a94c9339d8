"""What a profile costs the requests of the server that it is taken of."""
