"""The bodies of tests/spark/test_windows.py on Spark Connect."""

from tests.spark.test_windows import *
