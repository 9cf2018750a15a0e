"""Meaning: names, rules and types checked once; conditions split by what they read."""
