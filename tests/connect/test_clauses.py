"""The bodies of tests/spark/test_clauses.py on Spark Connect."""

from tests.spark.test_clauses import *
