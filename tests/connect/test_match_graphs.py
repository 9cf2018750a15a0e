"""The bodies of tests/spark/test_match_graphs.py on Spark Connect."""

from tests.spark.test_match_graphs import *
