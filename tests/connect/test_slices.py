"""The bodies of tests/spark/test_slices.py on Spark Connect."""

from tests.spark.test_slices import *
