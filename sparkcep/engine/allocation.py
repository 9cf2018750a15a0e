"""Memory that large arrays give back is kept for the next ones.

glibc maps each large array anew and gives it back when it is let go, so that the next one of the same size has all
its pages cleared and entered one by one again: a quarter of the time of searches in long windows. It does so only
for arrays larger than the largest one that was let go so far (`M_MMAP_THRESHOLD` in mallopt(3), which is at most
32 MiB), and keeps twice as much.
"""

from __future__ import annotations

import numpy as np

LARGEST = 31 << 20


def keep_memory() -> None:
    """Let go of a large array that nobody has written to, so that it took no memory.

    Where another library allocates memory nothing changes.
    """
    np.empty(LARGEST, np.uint8)
