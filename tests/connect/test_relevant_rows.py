"""The bodies of tests/spark/test_relevant_rows.py on Spark Connect."""

from tests.spark.test_relevant_rows import *
