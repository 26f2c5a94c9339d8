"""Everything that measures and reports; `cli` is the entry point."""
