"""The bodies of tests/spark/test_values.py on Spark Connect."""

from tests.spark.test_values import *
