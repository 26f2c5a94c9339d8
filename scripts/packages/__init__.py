"""Tests of the packages (scripts/packages.sh)."""
