"""Shared parts of the walks through real applications: servers, an HTTP client, a database, the comparison."""
