"""The bodies of tests/spark/test_observe.py on Spark Connect."""

from tests.spark.test_observe import *
