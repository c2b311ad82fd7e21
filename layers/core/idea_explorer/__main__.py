"""`python -m idea_explorer` is `idea`."""

import sys

from idea_explorer.cli import main

if __name__ == "__main__":
    sys.exit(main())
