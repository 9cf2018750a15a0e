"""Chooses who finds the matches, and says why."""
