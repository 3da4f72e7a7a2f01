"""`python -m cluster`."""

from __future__ import annotations

import sys

from cluster.commands import main

if __name__ == "__main__":
    sys.exit(main())
