"""Spark on both sides of the matcher: prepared columns, batches, finished measures, SQL."""
