"""`python -m memreader` is the command `memreader`."""

import sys

from memreader.cli import main

if __name__ == "__main__":
    sys.exit(main())
