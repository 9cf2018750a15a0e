"""The bodies of tests/spark/test_row_slices.py on Spark Connect."""

from tests.spark.test_row_slices import *
