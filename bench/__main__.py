"""Entry point of `python3 -m bench`."""

import sys

from bench.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
