"""``python -m sparkcep …`` and ``spark-submit … sparkcep/__main__.py …``."""

import sys

from sparkcep.cli import main

if __name__ == "__main__":
    sys.exit(main())
