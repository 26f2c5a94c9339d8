"""The benchmark harness: `python3 -m bench --help`, run from the repository's root."""
