"""What the walks through real applications share: servers, an HTTP client, a database, the comparison."""
