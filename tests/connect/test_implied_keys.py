"""The bodies of tests/spark/test_implied_keys.py on Spark Connect."""

from tests.spark.test_implied_keys import *
