"""The bodies of tests/spark/test_aggregates.py on Spark Connect."""

from tests.spark.test_aggregates import *
